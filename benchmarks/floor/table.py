"""The one table of the floor."""

TABLE = """
    CREATE TABLE flow (
        id bigserial PRIMARY KEY, session_id text UNIQUE, address text, code text, attempts integer DEFAULT 0,
        token text, created_at timestamptz DEFAULT now(), sent_at timestamptz
    )
"""
