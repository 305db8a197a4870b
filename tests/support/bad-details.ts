const BCRYPT = `$2b$10$${'a'.repeat(53)}`;

export const SCOPED = { resource: 'https://files.example', scope: 'read files' };

/**
 * Fields that a client must not have, and how the problem begins, in a clients file. The same are refused by the API.
 */
export const BAD_DETAILS: readonly (readonly [what: string, fields: object, problem: string | RegExp])[] = [
  ['jwks without keys', { jwks: {} }, 'jwks.keys must be an array'],
  [
    'a private key',
    { jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AA', d: 'its-secret' }] } },
    'jwks.keys.0 contains a private or a symmetric key: register only the public key',
  ],
  [
    'a claim that is no text',
    { federated_subjects: [{ issuer: 'i', subject: 's', claims: { a: 1 } }] },
    /must be a string/,
  ],
  [
    'a claim that JavaScript would lose',
    {
      federated_subjects: [{ issuer: 'i', subject: 's', claims: JSON.parse('{"/a":"b","__proto__":"its-secret"}') }],
    },
    'federated_subjects.0.claims must not name __proto__',
  ],
  [
    'a subject without its issuer',
    { federated_subjects: [{ subject: 's' }] },
    'federated_subjects.0.issuer is missing',
  ],
  ['a resource with a fragment', { resources: ['https://a/#b'] }, /^resources entry 0 must be an absolute URI/],
  ['a secret without its name', { secrets: [{ secret_id: 'a', client_secret: BCRYPT }] }, 'secrets.0.name is missing'],
  ['secrets that are no array', { secrets: {} }, /^secrets must be an array/],
  ['a secret that is no object', { secrets: ['its-secret'] }, 'secrets.0 must be an object'],
  [
    'an unknown field of a secret',
    { secrets: [{ secret_id: 'a', name: 'n', client_secret: BCRYPT, secret: 'its-secret' }] },
    'secrets.0 has unknown fields `secret`: it may have secret_id, name, client_secret, expires_at, generated',
  ],
  [
    'a time that is no number',
    { secrets: [{ secret_id: 'a', name: 'n', client_secret: BCRYPT, expires_at: '2030-01-01' }] },
    'secrets.0.expires_at must be a time in whole seconds since the epoch',
  ],
  [
    'an end of its secret in milliseconds',
    { client_secret_expires_at: 1_800_000_000_000 },
    'client_secret_expires_at must be before the year 10000, in seconds, not milliseconds',
  ],
  ['keys in an array', { jwks: [] }, 'jwks must be a JWK set'],
  ['a key that is no object', { jwks: { keys: ['its-secret'] } }, 'jwks.keys.0 must be an object'],
  ['subjects that are no array', { federated_subjects: 'its-secret' }, 'federated_subjects must be an array'],
  [
    'conditions that are no object',
    { federated_subjects: [{ issuer: 'i', subject: 's', claims: 'its-secret' }] },
    'federated_subjects.0.claims must be an object',
  ],
  [
    'an unknown field of a subject',
    { federated_subjects: [{ issuer: 'i', subject: 's', claim: {} }] },
    'federated_subjects.0 has unknown fields `claim`: it may have issuer, subject, claims',
  ],
  ['a resource that is no text', { resources: [1] }, 'resources.0 must be a URI, or an object with resource and scope'],
  ['a resource with an empty scope', { resources: [{ ...SCOPED, scope: '' }] }, /^resources entry 0 scope must be/],
  [
    'a resource with too long a scope',
    { resources: [{ ...SCOPED, scope: 'a'.repeat(2_001) }] },
    'resources entry 0 scope must have at most 2000 characters',
  ],
  ['a resource twice', { resources: [SCOPED.resource, SCOPED] }, 'resources entry 1 is repeated'],
  ['claims of a list', { claims: [] }, 'claims must be an object'],
  [
    'a claim of the service',
    { claims: { iss: 'its-secret' } },
    'claims must not set iss, which the service or a standard sets',
  ],
  ['a lifetime of no time', { token_lifetime_seconds: 0 }, /^token_lifetime_seconds must be a whole number of seconds/],
  ['a lifetime as text', { token_lifetime_seconds: '60' }, /^token_lifetime_seconds must be a whole number/],
  ['a lifetime of two days', { token_lifetime_seconds: 172_800 }, /^token_lifetime_seconds must be a whole number/],
  [
    'two secrets with ids beside another one',
    { secrets: ['a', 'b'].map((secret_id) => ({ secret_id, name: 'n', client_secret: BCRYPT })) },
    /^secrets must be at most 1 beside client_secret/,
  ],
  ['no secret and no key', { client_secret: undefined, jwks: { keys: [] }, secrets: [] }, 'client_secret is missing'],
];

/** The same of the fields that each client has, with the whole problem in a clients file, for a client `a`. */
export const BAD_FIELDS: readonly (readonly [what: string, fields: object, problem: string])[] = [
  ['a field that is no string', { client_name: 1 }, 'entry 0: client a: client_name must be a string'],
  [
    'an unknown field',
    { description: 'its-secret' },
    'entry 0: client a: it has unknown fields `description`: it may have client_id, client_secret, client_name, scope, client_secret_expires_at, client_secret_generated, secrets, jwks, federated_subjects, resources, claims, token_lifetime_seconds, grant_types, audiences, owner',
  ],
  [
    'an unknown field whose name may be a secret',
    { 'its-secret': 1, b: 2 },
    'entry 0: client a: it has unknown fields `b`: it may have client_id, client_secret, client_name, scope, client_secret_expires_at, client_secret_generated, secrets, jwks, federated_subjects, resources, claims, token_lifetime_seconds, grant_types, audiences, owner',
  ],
  [
    'a field whose name has a typing error',
    { jwk: 'its-secret' },
    'entry 0: client a: it has unknown fields `jwk`: it may have client_id, client_secret, client_name, scope, client_secret_expires_at, client_secret_generated, secrets, jwks, federated_subjects, resources, claims, token_lifetime_seconds, grant_types, audiences, owner',
  ],
  [
    'a client_id with a control character',
    { client_id: 'a\n' },
    'entry 0: client_id must have 1 to 255 characters and no control character',
  ],
  [
    'a client_id with an invisible character',
    { client_id: 'a\u200b' },
    'entry 0: client_id must have no line break, control or invisible character',
  ],
  [
    'a plain secret with a line break at its end',
    { client_secret: '{noop}its-secret\n' },
    'entry 0: client a: client_secret must have no line break, control or invisible character',
  ],
  ['an empty name', { client_name: '' }, 'entry 0: client a: client_name must not be empty'],
  [
    'a malformed scope',
    { scope: 'a  b' },
    'entry 0: client a: scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)',
  ],
  [
    'a secret that is neither BCrypt nor {noop}',
    { client_secret: 'its-secret' },
    'entry 0: client a: client_secret must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes',
  ],
  [
    'a secret of cost 15',
    { client_secret: BCRYPT.replace('$10$', '$15$') },
    'entry 0: client a: client_secret must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes',
  ],
  [
    'an empty plain secret',
    { client_secret: '{noop}' },
    'entry 0: client a: client_secret must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes',
  ],
];
