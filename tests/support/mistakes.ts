import { generateKeyPairSync } from 'node:crypto';

/** What an operator sets or writes, and what the message has to say: what to do about it. */
export interface Mistake {
  readonly what: string;
  /** Settings that add to those of a service that starts, with its registrations in memory. */
  readonly set?: Readonly<Record<string, string>>;
  /** What is written into files, by the setting that names each. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Of the files, in place of 0o600. */
  readonly mode?: number;
  readonly fix: RegExp;
}

const DATABASE = { CLIENT_REPOSITORY: 'postgres', CLIENTS_FILE: '' };
const url = (DATABASE_URL: string) => ({ ...DATABASE, DATABASE_URL });
const clients = (CLIENTS_FILE: string | Buffer) => ({ CLIENTS_FILE });
const entry = (fields: object) =>
  clients(JSON.stringify([{ client_id: 'a', client_secret: '{noop}s', client_name: 'A', scope: 'read', ...fields }]));
const [bom, nbsp, zeroWidth] = ['\ufeff', '\u00a0', '\u200b'];
const pem = (key: { export(options: object): string | Buffer }, type: string, more: object = {}) =>
  String(key.export({ type, format: 'pem', ...more }));
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const WEAK = generateKeyPairSync('rsa', { modulusLength: 1024 });
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = (KEY_FILE: string | Buffer) => ({ KEY_FILE });
const GOOD = '[{"client_id":"a","client_secret":"{noop}s","client_name":"A","scope":"read"}]';

/** Characters that nobody sees. */
const INVISIBLE: readonly Mistake[] = [
  { what: 'a space before a port', set: { PORT: ' 8080' }, fix: /PORT: must not begin or end with a space/ },
  { what: 'a tab behind a port', set: { PORT: '8080\t' }, fix: /PORT: must not begin or end with a tab/ },
  {
    what: 'Windows line ends',
    set: { PORT: '8080\r' },
    fix: /PORT: .*save the file that sets it with Unix line ends/,
  },
  { what: 'a line break', set: { TOKEN_AUDIENCE: 'https://api.test\n' }, fix: /TOKEN_AUDIENCE: .*a line break/ },
  {
    what: 'a byte order mark',
    set: { TOKEN_ISSUER: `${bom}https://a.test` },
    fix: /TOKEN_ISSUER: .*byte order mark: save .* UTF-8 without it/,
  },
  {
    what: 'a byte order mark before a choice',
    set: { CLIENT_REPOSITORY: `${bom}memory` },
    fix: /CLIENT_REPOSITORY: .*byte order mark/,
  },
  {
    what: 'a no-break space',
    set: { BASE_URL: `https://a.test${nbsp}` },
    fix: /BASE_URL: .*invisible character U\+00A0/,
  },
  {
    what: 'a space of no width',
    set: { TOKEN_AUDIENCE: `https://api.test${zeroWidth}` },
    fix: /TOKEN_AUDIENCE: .*U\+200B/,
  },
  { what: 'a space of no width behind a host', set: { HOST: `127.0.0.1${zeroWidth}` }, fix: /HOST: .*U\+200B/ },
  {
    what: 'a space behind a method',
    set: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post ' },
    fix: /METHODS: must not begin or end with a space/,
  },
  {
    what: 'a space behind a URL',
    set: url('postgresql://a:b@db.test/c '),
    fix: /DATABASE_URL: must not begin or end with a space/,
  },
  {
    what: 'a byte order mark in the file of a URL',
    set: { ...DATABASE, DATABASE_URL: '' },
    files: { DATABASE_URL_FILE: `${bom}postgresql://a:b@db.test/c` },
    fix: /DATABASE_URL_FILE: .*byte order mark/,
  },
  {
    what: 'a space at the end of the file of a URL',
    set: DATABASE,
    files: { DATABASE_URL_FILE: 'postgresql://a:b@db.test/c \n' },
    fix: /DATABASE_URL_FILE: .*a space/,
  },
  {
    what: 'a byte order mark in the file of a token',
    set: { MANAGEMENT_PORT: '8081' },
    files: { MANAGEMENT_TOKEN_FILE: `${bom}an-operator-token-of-32-characters` },
    fix: /MANAGEMENT_TOKEN_FILE: must .*byte order mark/,
  },
  {
    what: 'a token with a space behind it',
    set: { MANAGEMENT_PORT: '8081', MANAGEMENT_TOKEN: 'an-operator-token-of-32-characters ' },
    fix: /MANAGEMENT_TOKEN: must not begin or end with a space/,
  },
  {
    what: 'quotation marks of docker --env-file',
    set: { PORT: '"8080"' },
    fix: /PORT: .*files for docker --env-file have none/,
  },
  ...['"./clients.json"', "'./clients.json'"].map((path) => ({
    what: `quotation marks of docker --env-file around a path: ${path}`,
    set: { CLIENTS_FILE: path },
    fix: /^(?!.*what the file contains).*CLIENTS_FILE: must not be in quotation marks: .*docker --env-file/,
  })),
  {
    what: 'quotation marks around a text that may be anything',
    set: { TOKEN_ISSUER: '"https://issuer.test"' },
    fix: /TOKEN_ISSUER: must not be in quotation marks/,
  },
  {
    what: 'a clients file with a byte order mark',
    files: clients(bom + GOOD),
    fix: /CLIENTS_FILE: .*byte order mark: save the file as UTF-8 without it/,
  },
  {
    what: 'a clients file in UTF-16',
    files: clients(Buffer.from(bom + GOOD, 'utf16le')),
    fix: /CLIENTS_FILE: is not in UTF-8: save it as UTF-8/,
  },
  {
    what: 'a clients file in Windows-1252',
    files: clients(Buffer.from(GOOD.replace('"A"', '"Ä"'), 'latin1')),
    fix: /CLIENTS_FILE: is not in UTF-8: save it as UTF-8/,
  },
  {
    what: 'a clients file that names a field twice',
    files: clients(GOOD.replace('"client_secret"', '"client_secret":"{noop}other","client_secret"')),
    fix: /CLIENTS_FILE: is not JSON: line 1, column \d+: a field that this object has already/,
  },
];

const LISTENING: readonly Mistake[] = [
  { what: 'HOST as a URL', set: { HOST: 'http://0.0.0.0' }, fix: /HOST: must be .* alone: no http:\/\// },
  { what: 'HOST with a port', set: { HOST: '0.0.0.0:8080' }, fix: /HOST: .*no port \(that is a separate setting\)/ },
  { what: 'HOST in brackets', set: { HOST: '[::1]' }, fix: /HOST: .*IPv6 without brackets/ },
  { what: 'HOST as *', set: { HOST: '*' }, fix: /HOST: .*0\.0\.0\.0 or :: is every address/ },
  {
    what: 'HOST with a path',
    set: { HOST: 'auth.test/oauth2' },
    fix: /HOST: must be an IP address or a host name alone/,
  },
  {
    what: 'MANAGEMENT_HOST as a URL',
    set: { MANAGEMENT_HOST: 'http://localhost' },
    fix: /MANAGEMENT_HOST: .*no http:\/\//,
  },
  {
    what: 'HOST of a name without an address',
    set: { HOST: 'no-such-host.invalid' },
    fix: /HOST: .*write an address of this machine, or 0\.0\.0\.0/,
  },
  {
    what: 'HOST of another machine',
    set: { HOST: '203.0.113.7' },
    fix: /HOST: .*write one that it has, or 0\.0\.0\.0/,
  },
  {
    what: 'both ports the same',
    set: { PORT: '8081', MANAGEMENT_PORT: '8081', BASE_URL: 'http://a.test' },
    fix: /set one of them to another port/,
  },
  { what: 'a port of Kubernetes', set: { PORT: 'tcp://10.0.0.1:80' }, fix: /switch enableServiceLinks off/ },
  { what: 'a port out of range', set: { PORT: '70000' }, fix: /PORT: must be a whole number from 0 to 65535/ },
  { what: 'a letter in a port', set: { PORT: '8O80' }, fix: /PORT: must be a whole number from 0 to 65535/ },
  {
    what: 'any free port without BASE_URL',
    set: { PORT: '0', BASE_URL: '' },
    fix: /BASE_URL: is required, since there is no fixed port/,
  },
  { what: 'BASE_URL without a scheme', set: { BASE_URL: 'auth.test' }, fix: /BASE_URL: must be an http or https URL/ },
  {
    what: 'BASE_URL with a slash',
    set: { BASE_URL: 'https://auth.test/' },
    fix: /BASE_URL: must not end with a slash/,
  },
  {
    what: 'BASE_URL with 0.0.0.0',
    set: { BASE_URL: 'http://0.0.0.0:8080' },
    fix: /BASE_URL: must have the name .*by which callers reach the service: 0\.0\.0\.0/,
  },
  {
    what: 'BASE_URL with [::]',
    set: { BASE_URL: 'http://[::]:8080' },
    fix: /BASE_URL: must have the name .*by which callers reach the service/,
  },
  {
    what: 'BASE_URL of the token endpoint',
    set: { BASE_URL: 'https://auth.test/oauth2/token' },
    fix: /BASE_URL: must end before \/oauth2: the service adds the paths/,
  },
  {
    what: 'BASE_URL with a user',
    set: { BASE_URL: 'https://u:p@auth.test' },
    fix: /BASE_URL: must be without user/,
  },
  {
    what: 'a proxy by its name',
    set: { TRUSTED_PROXIES: 'nginx' },
    fix: /TRUSTED_PROXIES: must be address ranges such as 10\.0\.0\.0\/8.*: entry 1 is not/,
  },
  {
    what: 'a range of proxies that is too long',
    set: { TRUSTED_PROXIES: '10.0.0.0/8, 10.0.0.1/33' },
    fix: /TRUSTED_PROXIES: .*: entry 2 is not/,
  },
  { what: 'every address as a proxy', set: { TRUSTED_PROXIES: '0.0.0.0/0' }, fix: /TRUSTED_PROXIES: .*none of \/0/ },
  {
    what: 'a name of the management port with a port',
    set: { MANAGEMENT_ALLOWED_HOSTS: 'auth.internal:8081' },
    fix: /host names without ports/,
  },
  {
    what: 'a certificate without its key',
    set: { TLS_CERT_FILE: 'tls.crt', BASE_URL: 'https://a.test' },
    fix: /TLS_KEY_FILE: is required if TLS_CERT_FILE is set/,
  },
];

const VALUES: readonly Mistake[] = [
  {
    what: 'no repository',
    set: { CLIENT_REPOSITORY: '' },
    fix: /CLIENT_REPOSITORY: must be set, to memory or sqlite or postgres/,
  },
  {
    what: 'a repository in upper case',
    set: { CLIENT_REPOSITORY: 'Postgres' },
    fix: /must be memory or sqlite or postgres/,
  },
  { what: 'no clients file', set: { CLIENTS_FILE: '' }, fix: /CLIENTS_FILE: is required/ },
  { what: 'no database', set: DATABASE, fix: /DATABASE_URL: is required/ },
  { what: 'a unit in a number', set: { TOKEN_LIFETIME_SECONDS: '5m' }, fix: /a whole number from 1 to 86400/ },
  { what: 'a decimal number', set: { TOKEN_LIFETIME_SECONDS: '300.0' }, fix: /a whole number from 1 to 86400/ },
  { what: 'another unit', set: { TOKEN_LIFETIME_MINUTES: '5' }, fix: /did you mean TOKEN_LIFETIME_SECONDS\?/ },
  { what: 'a missing unit', set: { TOKEN_LIFETIME: '300' }, fix: /did you mean TOKEN_LIFETIME_SECONDS\?/ },
  { what: 'a missing letter', set: { PUBLIC_METADTA: 'true' }, fix: /did you mean PUBLIC_METADATA\?/ },
  { what: 'a singular', set: { TRUSTED_PROXY: '10.0.0.1' }, fix: /did you mean TRUSTED_PROXIES\?/ },
  { what: 'lower case', set: { token_lifetime_seconds: '300' }, fix: /did you mean TOKEN_LIFETIME_SECONDS\?/ },
  { what: 'yes in place of true', set: { PUBLIC_METADATA: 'yes' }, fix: /must be true or false/ },
  { what: 'True', set: { PUBLIC_METADATA: 'True' }, fix: /must be true or false/ },
  { what: 'a profile in upper case', set: { TOKEN_PROFILE: 'RFC9068' }, fix: /must be default or rfc9068 or common/ },
  { what: 'a profile without its audience', set: { TOKEN_PROFILE: 'rfc9068' }, fix: /TOKEN_AUDIENCE: is required/ },
  {
    what: 'methods with semicolons',
    set: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post;client_secret_basic' },
    fix: /a list, separated by commas, of client_secret_post/,
  },
  {
    what: 'an unknown method',
    set: { CLIENT_AUTHENTICATION_METHODS: 'tls_client_auth' },
    fix: /a list, separated by commas, of client_secret_post/,
  },
  {
    what: 'a method without its issuers',
    set: { CLIENT_AUTHENTICATION_METHODS: 'federated_jwt' },
    fix: /CLIENT_ASSERTION_ISSUERS_FILE: is required/,
  },
  {
    what: 'MCP without public metadata',
    set: { METADATA_COMPATIBILITY: 'mcp' },
    fix: /PUBLIC_METADATA: must be true/,
  },
  { what: 'an unknown compatibility', set: { METADATA_COMPATIBILITY: 'openid' }, fix: /of mcp oidc/ },
  {
    what: 'a short operator token',
    set: { MANAGEMENT_PORT: '8081', MANAGEMENT_TOKEN: 'a-token-with-31-characters-only' },
    fix: /32 to 1024 letters.*openssl rand -base64 32/,
  },
  {
    what: 'an operator token without its port',
    set: { MANAGEMENT_TOKEN: 'an-operator-token-of-32-characters' },
    fix: /set MANAGEMENT_PORT=8081/,
  },
  { what: 'a cost beyond the limit', set: { CLIENT_SECRET_COST: '31' }, fix: /a whole number from 4 to 14/ },
  {
    what: 'a rotation that is too short',
    set: { KEY_ROTATION_SECONDS: '60' },
    fix: /must be 0 or at least twice KEY_PUBLICATION_SECONDS/,
  },
  {
    what: 'an audit file in a missing folder',
    set: { AUDIT_FILE: '/no/such/folder/audit.log' },
    fix: /AUDIT_FILE|mkdir -p/,
  },
];

const CONVERTED = /KEY_FILE: must be a private key as PKCS#8 PEM .*openssl pkey .* converts other forms/;

const FILES: readonly Mistake[] = [
  {
    what: 'a clients file that is not there',
    set: { CLIENTS_FILE: './no-such-file.json' },
    fix: /there is no file \/.*no-such-file\.json/,
  },
  { what: 'a clients file with a tilde', set: { CLIENTS_FILE: '~/clients.json' }, fix: /only a shell replaces ~/ },
  { what: 'a folder as a clients file', set: { CLIENTS_FILE: '/tmp' }, fix: /is a directory/ },
  {
    what: 'the content in place of the file',
    set: { CLIENTS_FILE: GOOD },
    fix: /the path of a file, not what the file contains/,
  },
  { what: 'an empty clients file', files: clients(''), fix: /the text is empty/ },
  { what: 'YAML', files: clients('- client_id: a\n  client_name: A\n'), fix: /looks like YAML: write it as JSON/ },
  { what: 'YAML with a document', files: clients('---\nclients: []\n'), fix: /looks like YAML: write it as JSON/ },
  {
    what: 'a trailing comma',
    files: clients(`${GOOD.slice(0, -1)},]`),
    fix: /line 1, column \d+: a comma before the end of the array/,
  },
  { what: 'single quotes', files: clients(GOOD.replaceAll('"', "'")), fix: /JSON has double quotes only/ },
  { what: 'a comment', files: clients(`// clients\n${GOOD}`), fix: /JSON has no comments/ },
  { what: 'an object in place of an array', files: clients('{}'), fix: /must be a JSON array/ },
  {
    what: 'a field in camel case',
    files: entry({ clientId: 'a' }),
    fix: /has unknown fields: it may have client_id, client_secret/,
  },
  {
    what: 'a secret without {noop}',
    files: entry({ client_secret: 'plain' }),
    fix: /must be a BCrypt encoding .*, or \{noop\}/,
  },
  { what: 'scopes as an array', files: entry({ scope: ['read'] }), fix: /scope must be a string/ },
  {
    what: 'the same client twice',
    files: clients(`[${GOOD.slice(1, -1)},${GOOD.slice(1, -1)}]`),
    fix: /entry 1: client a: client_id is that of entry 0/,
  },
  { what: 'a missing name', files: entry({ client_name: undefined }), fix: /client_name is missing/ },
  {
    what: 'a key with the private part',
    files: entry({ jwks: { keys: [EC.privateKey.export({ format: 'jwk' })] } }),
    fix: /private/,
  },
  {
    what: 'PKCS#1',
    files: key(pem(RSA.privateKey, 'pkcs1')),
    set: { KEY_ROTATION_SECONDS: '0' },
    fix: CONVERTED,
  },
  {
    what: 'a PEM with its line breaks as two characters',
    files: key(pem(RSA.privateKey, 'pkcs8').replaceAll('\n', '\\n')),
    fix: CONVERTED,
  },
  {
    what: 'base64 of a PEM',
    files: key(Buffer.from(pem(RSA.privateKey, 'pkcs8')).toString('base64')),
    fix: CONVERTED,
  },
  {
    what: 'a passphrase',
    files: key(pem(RSA.privateKey, 'pkcs8', { cipher: 'aes-256-cbc', passphrase: 'x' })),
    fix: CONVERTED,
  },
  {
    what: 'an elliptic curve in SEC 1',
    files: key(pem(EC.privateKey, 'sec1')),
    fix: CONVERTED,
  },
  { what: 'the public key', files: key(pem(RSA.publicKey, 'spki')), fix: CONVERTED },
  { what: 'a weak key', files: key(pem(WEAK.privateKey, 'pkcs8')), fix: /2048/ },
  {
    what: 'a key that others may read',
    files: key(pem(RSA.privateKey, 'pkcs8')),
    set: { KEY_ROTATION_SECONDS: '0' },
    mode: 0o644,
    fix: /chmod 600/,
  },
  {
    what: 'a key in place of its file',
    set: { KEY_FILE: pem(RSA.privateKey, 'pkcs8').trim() },
    fix: /the path of a file, not what the file contains/,
  },
  {
    what: 'a key file with a rotation',
    files: key(pem(RSA.privateKey, 'pkcs8')),
    set: { KEY_ROTATION_SECONDS: '86400' },
    fix: /must be 0 if KEY_FILE is set/,
  },
];

const DATABASES: readonly Mistake[] = [
  {
    what: 'two URLs',
    set: { ...url('postgresql://a:b@db.test/c'), DATABASE_URL_FILE: 'x' },
    fix: /must not be set if DATABASE_URL_FILE is set/,
  },
  { what: 'a URL without a scheme', set: url('db.test:5432/auth'), fix: /a URL such as postgresql:\/\// },
  { what: 'the URL of JDBC', set: url('jdbc:postgresql://db.test/auth'), fix: /a URL such as postgresql:\/\// },
  { what: 'another database', set: url('mysql://db.test/auth'), fix: /a URL such as postgresql:\/\// },
  { what: 'an @ in the password', set: url('postgresql://a:p/x@y@db.test/c'), fix: /@ as %40/ },
  { what: 'a # in the password', set: url('postgresql://a:p#x@db.test/c'), fix: /# as %23/ },
  {
    what: 'IPv6 without brackets',
    set: url('postgresql://a:b@::1:5432/c'),
    fix: /IPv6 address in brackets: .*\[::1\]/,
  },
  { what: 'IPv6 without brackets and port', set: url('postgresql://a:b@fd00::1/c'), fix: /IPv6 address in brackets/ },
  {
    what: 'a typo in sslmode',
    set: url('postgresql://a:b@db.test/c?sslmode=verfy-full'),
    fix: /one of these for sslmode: disable .*verify-full/,
  },
  { what: 'sslmode=true', set: url('postgresql://a:b@db.test/c?sslmode=true'), fix: /one of these for sslmode/ },
  {
    what: 'an authority that is not there',
    set: url('postgresql://a:b@db.test/c?sslmode=verify-full&sslrootcert=./no.crt'),
    fix: /the file of sslrootcert cannot be read: there is no file/,
  },
  {
    what: 'a port where nothing listens',
    set: url('postgresql://a:b@127.0.0.1:1/c'),
    fix: /start PostgreSQL, or correct host and port/,
  },
  {
    what: 'a host without an address',
    // A label of 64 characters: no name server is asked, which may be slow.
    set: url(`postgresql://a:b@${'a'.repeat(64)}.invalid/c`),
    fix: /correct the host in DATABASE_URL/,
  },
  {
    what: 'a wrong name of the setting',
    set: { ...DATABASE, DATABASE_URI: 'postgresql://a:b@db.test/c' },
    fix: /did you mean DATABASE_URL\?/,
  },
];

export const MISTAKES: readonly Mistake[] = [...INVISIBLE, ...LISTENING, ...VALUES, ...FILES, ...DATABASES];
