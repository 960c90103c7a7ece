"""Python source as data: canonical form, tokens and the sizes of a program. Nothing is executed."""
