"""What all pages of the panel share: who sees which rows, navigation, columns, form fields, formats of values."""
