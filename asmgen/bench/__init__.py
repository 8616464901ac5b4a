"""`asmgen bench`: routines timed on this machine's own CPU beside other people's, or modelled where they cannot run."""
