-- Version 2 adds the checkpoints: signed notes of the chain's head. A
-- checkpoint is evidence, guarded like the rest, but not itself in the chain
-- that it speaks about.

CREATE TABLE checkpoints (
  seq  INTEGER PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),          -- chained rows before it
  head BLOB NOT NULL CHECK (length(head) = 32),     -- of the chain after them
  note TEXT NOT NULL CHECK (note <> ''),            -- C2SP checkpoint, signed
  at   TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at)
) STRICT;

CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER checkpoints_guard BEFORE INSERT ON checkpoints
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM checkpoints), 0) + 1
      OR NEW.at <= (SELECT at FROM checkpoints WHERE seq = NEW.seq - 1)
      OR NEW.size < (SELECT size FROM checkpoints WHERE seq = NEW.seq - 1)
      OR NEW.size IS NOT
           coalesce((SELECT max(seq) FROM decisions), 0) + coalesce((SELECT max(seq) FROM decision_events), 0)
         + coalesce((SELECT max(seq) FROM events), 0) + coalesce((SELECT max(seq) FROM role_claims), 0)
         + coalesce((SELECT max(seq) FROM messages), 0) + coalesce((SELECT max(seq) FROM deliveries), 0)
    THEN RAISE(ABORT, 'evidence-order')
  END;
END;
