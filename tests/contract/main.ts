import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { checkRows } from './check.ts';
import { report } from './report.ts';
import { JWT_BEARER_ROWS, REVOCATION_ROWS, ROWS } from './rows.ts';
import { serverAt } from './targets.ts';

// npm run contract -- URL --client-id ID --client-secret-file FILE: checks a token endpoint against the contract.

const USAGE = `npm run contract -- URL --client-id ID --client-secret-file FILE [--token-path PATH] [--jwt-bearer] [--revocation]
  [--form table|json|junit]

Sends ${ROWS.length} requests to the server at URL, 4 of them with a wrong secret, and says which rows of the contract hold. URL is https or on
loopback. The client sends its secret in the body (client_secret_post). Exits with 1 if a row of severity must does not hold.
--jwt-bearer sends ${JWT_BEARER_ROWS.length} more requests, for a server with that grant; --revocation ${REVOCATION_ROWS.length}, for one with
introspection and revocation.
`;

function fail(problem: string): never {
  process.stderr.write(`${problem}\n\n${USAGE}`);
  process.exit(2);
}

/** What is known of a mistake is said without a stack. */
function failWith(error: unknown, problem: (code: string) => string): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  fail(problem(code));
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'client-id': { type: 'string' },
        'client-secret-file': { type: 'string' },
        'token-path': { type: 'string', default: '/oauth2/token' },
        'jwt-bearer': { type: 'boolean', default: false },
        revocation: { type: 'boolean', default: false },
        form: { type: 'string', default: 'table' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return failWith(error, () => (error as Error).message);
  }
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const what = (code: string) =>
      code === 'ENOENT' ? `there is no file ${file}` : `${file} cannot be read (${code})`;
    return failWith(error, (code) => `--client-secret-file: ${what(code)}.`);
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const base = URL.parse(positionals[0] ?? '') ?? fail('URL is missing, or is not a URL.');
const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(base.hostname);
if (base.protocol !== 'https:' && !(base.protocol === 'http:' && isLoopback)) {
  fail('URL must be https, or on loopback: the secret would be readable on its way.');
}
if (base.pathname !== '/') {
  fail(`URL has a path: write the path of the token endpoint in --token-path, as in --token-path ${base.pathname}`);
}
const clientId = values['client-id'] ?? fail('--client-id is missing.');
const file = values['client-secret-file'] ?? fail('--client-secret-file is missing.');
const format = report[values.form as keyof typeof report] ?? fail('--form must be table, json or junit.');

const more = [...(values['jwt-bearer'] ? JWT_BEARER_ROWS : []), ...(values.revocation ? REVOCATION_ROWS : [])];
const results = await checkRows([...ROWS, ...more], {
  send: serverAt(base),
  clientId,
  clientSecret: readSecret(file),
  tokenPath: values['token-path'],
}).catch((error: unknown) =>
  failWith(error, (code) => {
    const hint = code === 'ECONNREFUSED' ? ': start it first' : '';
    return `No server answers at ${base.origin} (${code})${hint}.`;
  }),
);
process.stdout.write(format(results));
process.exitCode = results.some(({ row, problems }) => row.severity === 'must' && problems.length > 0) ? 1 : 0;
