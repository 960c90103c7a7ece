"""The flow (the list of stages is wired in at integration)."""
