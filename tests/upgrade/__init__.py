"""The way from one version to the next, and from a machine that is lost to a new one."""
