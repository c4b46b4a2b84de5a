"""Millions of sentences: parsed in shards that are written whole, with a manifest by which a run goes on."""
