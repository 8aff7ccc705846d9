# Golden values of the real programs, with the scripts that made them.
