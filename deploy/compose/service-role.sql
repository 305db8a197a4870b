-- See docs/operate.md, "Roles and grants". May be run any number of times.
\getenv password SERVICE_PASSWORD
\getenv database PGDATABASE
set client_min_messages = warning;
-- The tables are created in the schema public, where nobody else may create objects from here on.
revoke create on schema public from public;

select 'create role authorization_service'
where not exists (select from pg_catalog.pg_roles where rolname = 'authorization_service') \gexec

alter role authorization_service login nosuperuser nocreatedb nocreaterole password :'password';
grant connect on database :"database" to authorization_service;
