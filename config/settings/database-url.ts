import type { ReadTextFile } from '../../adapters/system/read-text-file.ts';
import { SecretText } from '../../adapters/system/secret-text.ts';
import type { Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { invisibleEnd } from './invisible-ends.ts';
import type { Environment } from './read-environment.ts';
import { settingProblem } from './rules.ts';

const EXAMPLE = 'postgresql://role:password@host:5432/database';
const RULE = `must be a URL such as ${EXAMPLE}`;

const ONE_HOST = 'must name one host, which follows the primary: docs/operate.md, "Failover and upgrade of PostgreSQL"';
const IPV6_RULE = 'must have an IPv6 address in brackets: postgresql://role:password@[::1]:5432/database';

/** Those of the driver. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const SSL_RULE = `must have one of these for sslmode: ${SSL_MODES.join(' ')}`;

/** In role and password these characters have another meaning (RFC 3986 sections 2.1 and 3.2). */
const RESERVED = 'in the role and the password write # as %23, / as %2F, ? as %3F, @ as %40 and % as %25';

/** What is wrong with the URL of a database; undefined if nothing is. Never quotes it. */
export function databaseUrlProblem(value: string): string | undefined {
  const [, rest] = /^postgres(?:ql)?:\/\/([^\r\n]*)$/.exec(value) ?? [];
  const invisible = invisibleEnd(value);
  if (invisible !== undefined) return invisible;
  if (rest === undefined) return RULE;
  if (/^(?:[^/?#@]*@)?[\da-f]*(?::[\da-f.]*){2,}(?=[/?#]|$)/i.test(rest)) return IPV6_RULE;
  // A reserved character in the password ends the authority, so that the @ stands behind it: before the name of a
  // parameter ends, or in the path, where a password in base64 has = too.
  const isCut = /^[^/?#@]*(?:[/?#][^=]*|[/#][^?]*)@/.test(rest);
  const [authority = ''] = rest.split(/[/?#]/);
  // A list of hosts, as libpq has it.
  if (!isCut && authority.split('@').at(-1)?.includes(',')) return ONE_HOST;
  if (isCut || !URL.canParse(value) || !isDecodable(rest)) return `${RULE}: ${RESERVED}`;
  const { username, hostname, pathname, searchParams } = new URL(value);
  // In their place the driver takes PGUSER, PGHOST and the like, the user of the process, localhost, and the name of
  // the role.
  const named = { role: searchParams.get('user') || username, host: searchParams.get('host') || hostname };
  const parts = Object.entries({ ...named, database: pathname.slice(1) });
  const missing = parts.flatMap(([part, name]) => (name === '' ? part : []));
  if (missing.length > 0) return `must name the ${missing.join(' and the ')}: ${EXAMPLE}`;
  // The driver ignores a mode that it does not know: the connection would not be encrypted.
  const mode = searchParams.getAll('sslmode').at(-1);
  return mode === undefined || SSL_MODES.includes(mode) ? undefined : SSL_RULE;
}

/** As the driver decodes it: if a `%` begins no escape, all of them are characters of the text. */
function isDecodable(rest: string): boolean {
  const [withoutQuery = ''] = rest.split('?');
  if (/ |%[^\da-f]|%[\da-f][^\da-f]/i.test(rest)) return true;
  try {
    decodeURIComponent(withoutQuery);
    return true;
  } catch {
    return false;
  }
}

/** Parameters of the URL that are paths of files, which are read for each connection. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];

/**
 * Variables that the driver reads too, and that lead to another server, schema or encoding; with the parameters that
 * come before them.
 */
const PORT_DEFAULT = '5432';
const ASSUMED = { PGPORT: 'port', PGOPTIONS: 'options', PGCLIENT_ENCODING: 'client_encoding' };

/**
 * What is wrong with the files and variables that the URL of a database needs, with the setting. Shows paths, and
 * nothing else of the URL.
 */
export function databaseFileProblems(
  url: string,
  environment: Environment,
  readTextFile: ReadTextFile,
): readonly Problem[] {
  const setting = environment['DATABASE_URL'] ? 'DATABASE_URL' : 'DATABASE_URL_FILE';
  const { searchParams, port } = new URL(url);
  const assumed = Object.entries(ASSUMED).flatMap(([variable, parameter]) => {
    const value = environment[variable] || process.env[variable];
    const isNamed = searchParams.get(parameter) || (parameter === 'port' && (port || value === PORT_DEFAULT));
    return value && !isNamed
      ? settingProblem(variable, `would change what ${setting} means`, 'write it there, or unset it')
      : [];
  });
  const files = FILES.flatMap((parameter) => {
    const path = searchParams.getAll(parameter).at(-1);
    const text = path ? readTextFile(path) : success('');
    return text.ok ? [] : [settingProblem(setting, `the file of ${parameter} ${text.problem}`)];
  });
  return [...assumed, ...files];
}

/** The URL in a file of one line, as container engines mount secrets. Fails with the rule, never with the text. */
export function readDatabaseUrl(text: string): Result<SecretText, readonly string[]> {
  const url = text.replace(/[\r\n]+$/, '');
  const problem = databaseUrlProblem(url);
  return problem === undefined ? success(new SecretText(url)) : failure([`must contain one line, and it ${problem}`]);
}

/**
 * What returns the URL for each new connection: the file is read again, so that role and password can be rotated
 * without a restart. While it cannot be read, or differs in anything else, the last URL counts, and the server decides
 * whether it still may; `onProblem` gets each new reason, without a value.
 */
export function followDatabaseUrl(
  path: string,
  first: string,
  readTextFile: ReadTextFile,
  onProblem: (problem: string) => void,
): () => string {
  let latest = first;
  let known: string | undefined;
  return () => {
    const read = readUrlFile(path, readTextFile);
    const isUsable = read.ok && withoutCredentials(read.value) === withoutCredentials(first);
    const problem = read.ok ? MORE_CHANGED : read.problem;
    if (isUsable) latest = read.value;
    else if (problem !== known) onProblem(problem);
    known = isUsable ? undefined : problem;
    return latest;
  };
}

const MORE_CHANGED = 'DATABASE_URL_FILE: differs in more than role and password, which takes effect at the next start.';

/** A password that is there does not become an empty one. */
function withoutCredentials(value: string): string {
  const url = new URL(value);
  return Object.assign(url, { username: '', password: url.password && 'set' }).href;
}

/** The URL in the file of DATABASE_URL_FILE. Fails with the setting and the rule, never with a value. */
export function readUrlFile(path: string, readTextFile: ReadTextFile): Result<string, string> {
  const text = readTextFile(path);
  const read = text.ok ? readDatabaseUrl(text.value) : failure([text.problem]);
  return read.ok ? success(read.value.reveal()) : failure(`DATABASE_URL_FILE: ${read.problem.join()}.`);
}
