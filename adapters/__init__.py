"""Everything outside the application: one package for each thing it speaks to."""
