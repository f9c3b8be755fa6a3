"""The traffic guard: it judges sends and checks, keeps its findings, and counts the conversion of traffic."""
