-- What a key was before it was rotated the last time, so that who goes on
-- using the old secret is told from who guesses.

-- +goose Up
alter table api_keys add column previous_kid text;
alter table api_keys add column previous_hash text;
create index api_keys_previous_kid on api_keys (previous_kid);

-- +goose Down
drop index api_keys_previous_kid;
alter table api_keys drop column previous_hash;
alter table api_keys drop column previous_kid;
