"""Looking at a release: one set of figures, drawn as a page (`report.html`) and in the notebook.

`reading` gives a release as a value that is always whole, `contents`, `distances` and `times`
compute its figures, `page` and `plots` show them. A page is a function of the release's tables
alone: no clock, no machine, no network.
"""
