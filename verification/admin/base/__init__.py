"""The parts that all pages of the panel share: who sees which rows, navigation, fields, and how values are shown."""
