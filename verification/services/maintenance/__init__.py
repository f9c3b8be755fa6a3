"""The upkeep of an installation: retention, erasure, new encryption keys, health, and the demo of a first start."""
