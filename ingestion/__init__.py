"""PDF to Parquet: extraction, text repair, sections, chunks, artifacts. Imports nothing else of ours."""
