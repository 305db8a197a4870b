import {
  closing,
  type ExpectedResponse,
  type HostileRequest,
  invalidClient,
  post,
  refused,
  TOKEN,
} from './hostile-request.ts';

/** A row of the table `clients` as another application could have written it. */
export interface StoredRow {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_name?: string;
  readonly scope?: string;
}

const HASH = '1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';
const UNUSABLE = invalidClient('stored_secret_unusable');
const BROKEN = invalidClient('registration_broken');
const MANY_SCOPES = Array.from({ length: 1_000 }, (_, index) => `scope-${index}`).join(' ');

interface Case {
  readonly name: string;
  readonly row: StoredRow;
  readonly request: HostileRequest;
}

/** A row with this client id, and a request for a token with the right secret. */
function stored(name: string, row: Omit<StoredRow, 'client_id'>, response: ExpectedResponse, more = ''): Case {
  const client_id = name.replaceAll(/\W/g, '_');
  const form = `grant_type=client_credentials&client_id=${client_id}&client_secret=good-secret${more}`;
  return { name, row: { client_id, ...row }, request: closing(name, post(form), response) };
}
const secret = (name: string, client_secret: string, response = UNUSABLE) => stored(name, { client_secret }, response);

export const STORED: readonly Case[] = [
  secret('a plain secret', 'good-secret'),
  secret('a plain secret with the prefix for files', '{noop}good-secret'),
  secret('a hash with the prefix of Spring Security', `{bcrypt}$2b$04$${HASH}`, TOKEN),
  secret('a hash with that prefix twice', `{bcrypt}{bcrypt}$2b$04$${HASH}`),
  secret('a hash with that prefix in upper case', `{BCRYPT}$2b$04$${HASH}`),
  secret('a hash with the prefix of another algorithm', `{pbkdf2}$2b$04$${HASH}`),
  secret('a hash that another encoder marked 2y', `$2y$04$${HASH}`, TOKEN),
  secret('a hash that an old encoder marked 2a', `$2a$04$${HASH}`, TOKEN),
  secret('a hash of a broken encoder', `$2x$04$${HASH}`),
  secret('a hash without a letter', `$2$04$${HASH}`),
  secret('a hash in upper case', `$2B$04$${HASH}`),
  secret('a cost of 0', `$2b$00$${HASH}`),
  secret('a cost below 4', `$2b$03$${HASH}`),
  secret('a cost of one digit', `$2b$4$${HASH}`),
  secret('a cost of 15, which takes seconds', `$2b$15$${HASH}`),
  secret('a cost of 31, which takes days', `$2b$31$${HASH}`),
  secret('a cost that is no cost', `$2b$99$${HASH}`),
  secret('a hash that is cut', `$2b$04$${HASH.slice(0, -1)}`),
  secret('a hash that is too long', `$2b$04$${HASH}x`),
  secret('a hash with a space before it', ` $2b$04$${HASH}`),
  secret('a hash with a line feed behind it', `$2b$04$${HASH}\n`),
  secret('a hash with a line break within', `$2b$04$${HASH.slice(0, 30)}\n${HASH.slice(30)}`),
  secret('two hashes', `$2b$04$${HASH} $2b$04$${HASH}`),
  secret('a hash of another algorithm', '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaJObG'),
  secret(
    'a hash of crypt',
    '$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.',
  ),
  secret('a locked hash', `!$2b$04$${HASH}`),
  secret('a lock alone', '!'),
  secret('a text that looks like a NUL', `$2b$04$${HASH}\\0`),
  secret('a secret of 1 MB', 'good-secret'.repeat(100_000)),
  secret('an empty secret', ''),
  stored('an empty name', { client_name: '' }, BROKEN),
  stored('a name with control characters', { client_name: 'a\u0001\r\n\u001b[31m\u202eb' }, TOKEN),
  stored('a name of 20,000 characters', { client_name: 'n'.repeat(20_000) }, TOKEN),
  stored('a name of 1 MB', { client_name: 'n'.repeat(1_000_000) }, BROKEN),
  stored('an empty scope', { scope: '' }, BROKEN),
  stored('a scope with a tab', { scope: 'read\twrite' }, BROKEN),
  stored('a scope with a space behind it', { scope: 'read ' }, BROKEN),
  stored('a scope with a quotation mark', { scope: '"read"' }, BROKEN),
  stored('a thousand scopes', { scope: MANY_SCOPES }, TOKEN),
  stored('a thousand scopes, of which one is asked for', { scope: MANY_SCOPES }, TOKEN, '&scope=scope-999'),
  stored(
    'a thousand scopes and another',
    { scope: MANY_SCOPES },
    refused(400, 'invalid_scope', 'scope_not_registered'),
    '&scope=scope-1000',
  ),
  stored('a scope of 13 MB', { scope: 's,'.repeat(6_500_000) }, BROKEN),
];
