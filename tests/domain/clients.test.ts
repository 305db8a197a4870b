import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ClientDetails, DETAILS_MAX, hasExpired, NO_DETAILS, withoutEmpty } from '../../domain/client-details.ts';
import { CLIENT_FIELDS, NO_FIELDS, recordedFieldsOf } from '../../domain/client-fields.ts';
import { ClientRegistration, describeProblem, FIELD_MAX_LENGTH } from '../../domain/client-registration.ts';
import {
  CREDENTIALS_BYTES_MAX,
  columnsOf,
  documentIn,
  excessOf,
  hasWeakSecret,
  readConditions,
  readKeys,
  readResources,
  readTokenFields,
  selectSecret,
} from '../../domain/details-document.ts';
import { checkDetails } from '../../domain/details-rules.ts';
import { type PublicJwk, readPublicJwk } from '../../domain/public-jwk.ts';
import { isResourceIndicator, selectResources } from '../../domain/resource-indicator.ts';
import { Scope } from '../../domain/scope.ts';
import {
  isLocked,
  isPresentableSecret,
  isSecretId,
  lock,
  NO_SECRET,
  replaceSecret,
  StoredSecret,
  secretIdOf,
  unlock,
} from '../../domain/stored-secret.ts';
import { hasUnprintable, printableJsonText } from '../../domain/unprintable.ts';
import { anyText } from '../support/any-text.ts';

describe('registrations', () => {
  const FIELDS = {
    id: '1',
    clientId: 'a-client',
    clientSecret: '{noop}its-secret',
    clientName: 'A client',
    scope: 'read',
  };

  describe('ClientRegistration', () => {
    it.each([
      ['id', ''],
      ['clientId', ''],
      ['clientId', 'a'.repeat(256)],
      ['clientId', 'a\nb'],
      ['clientSecret', ''],
      ['clientName', ''],
      ['scope', ''],
      ['scope', 'a  b'],
    ] as const)('names the field that breaks an invariant: %s %j', (field, value) => {
      const registration = ClientRegistration.of({ ...FIELDS, [field]: value });
      expect(registration).toMatchObject({ ok: false, problem: { field } });
      if (value !== '') expect(JSON.stringify(registration)).not.toContain(value);
    });

    it.each(['a', '0', 'ü', 'with space', 'a'.repeat(255), '😀'.repeat(255)])(
      'accepts the client id %s',
      (clientId) => {
        expect(ClientRegistration.of({ ...FIELDS, clientId }).ok).toBe(true);
      },
    );

    it('accepts a stored secret that nothing can match: the client is locked', () => {
      const registration = ClientRegistration.of({ ...FIELDS, clientSecret: '!' });
      expect(registration.ok && registration.value.clientSecret.kind).toBe('unusable');
    });

    it('serves nothing and has no resources unless it says so', () => {
      const registration = ClientRegistration.of(FIELDS);
      expect(registration.ok && [registration.value.audiences, registration.value.resources]).toEqual([[], []]);
    });

    it('is immutable', () => {
      const registration = ClientRegistration.of(FIELDS);
      expect(registration.ok && Object.isFrozen(registration.value)).toBe(true);
    });

    it('never shows its secret: not as JSON, not when inspected, not as text', () => {
      const registration = ClientRegistration.of(FIELDS);
      if (!registration.ok) throw new Error('refused');
      const { value } = registration;
      for (const shown of [
        JSON.stringify(value),
        inspect(value, { depth: 9, showHidden: true }),
        `${value.clientSecret}`,
      ]) {
        expect(shown).not.toContain('its-secret');
      }
    });
  });

  describe('the rules that a registration breaks', () => {
    it.each([
      ['id', 'must not be empty', { id: '' }],
      ['clientId', 'must have 1 to 255 characters and no control character', { clientId: '' }],
      ['clientSecret', 'must not be empty', { clientSecret: '' }],
      ['clientName', 'must not be empty', { clientName: '' }],
      ['scope', 'must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)', { scope: '' }],
      ['clientSecret', 'must have at most 20000 characters', { clientSecret: 's'.repeat(FIELD_MAX_LENGTH + 1) }],
      ['clientName', 'must have at most 20000 characters', { clientName: 'n'.repeat(FIELD_MAX_LENGTH + 1) }],
      ['scope', 'must have at most 20000 characters', { scope: 's'.repeat(FIELD_MAX_LENGTH + 1) }],
      ['claims', 'must be an object', { claims: ['tenant'] }],
      ['token_lifetime_seconds', 'must be a whole number of seconds from 1 to 86400', { token_lifetime_seconds: '60' }],
    ])('%s %s', (field, rule, more) => {
      const fields = { id: '1', clientId: 'c', clientSecret: 's', clientName: 'n', scope: 'read', ...more };
      expect(ClientRegistration.of(fields)).toEqual({ ok: false, problem: { field, rule } });
    });

    it('are named as in a clients file', () => {
      expect(describeProblem({ field: 'clientName', rule: 'must not be empty' })).toBe('client_name must not be empty');
      expect(describeProblem({ field: 'token_lifetime_seconds', rule: 'x' })).toBe('token_lifetime_seconds x');
    });

    it.each(['a\u200bb', 'a\u3164'])(
      'concern an invisible character in an id only where somebody registers it now: %j',
      (id) => {
        const fields = { ...FIELDS, clientId: id };
        const rule = 'must have no line break, control or invisible character';
        expect(ClientRegistration.toRegister(fields)).toEqual({ ok: false, problem: { field: 'clientId', rule } });
        expect([ClientRegistration.of(fields), ClientRegistration.toRegister(FIELDS)]).toMatchObject([
          { ok: true },
          { ok: true },
        ]);
        expect(ClientRegistration.toRegister({ ...fields, scope: '' })).toMatchObject({ problem: { field: 'scope' } });
      },
    );

    it('allow fields of the longest length', () => {
      const clientName = 'n'.repeat(FIELD_MAX_LENGTH);
      expect(ClientRegistration.of({ ...FIELDS, clientName, clientSecret: clientName, scope: clientName }).ok).toBe(
        true,
      );
    });
  });
});

describe('details', () => {
  const ENCODED = `$2b$10$${'a'.repeat(53)}`;

  function newKey(): PublicJwk {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const read = readPublicJwk(publicKey.export({ format: 'jwk' }));
    if (!read.ok) throw new Error(read.problem);
    return read.value;
  }

  // RFC 7517 appendix A.1. Fixed, since names of tests contain it.
  const JWK: PublicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
    y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
  };
  const SECRET = { secret_id: 'cs-1', name: 'first', client_secret: ENCODED };
  const SUBJECT = { issuer: 'https://issuer.example', subject: 'repo:a/b', claims: { '/repository_id': '1' } };
  const RESOURCE = 'https://api.example/v1';
  const DETAILS: ClientDetails = {
    secrets: [SECRET],
    jwks: { keys: [{ ...JWK, expires_at: 1_800_000_000 }] },
    federated_subjects: [SUBJECT],
    resources: [RESOURCE, { resource: 'https://files.example', scope: 'read files' }],
    claims: { tenant: 'acme', groups: ['a'] },
    token_lifetime_seconds: 60,
    grant_types: ['jwt-bearer'],
    audiences: ['https://api.example/v1'],
    owner: 'team-a',
  };

  const listed = (kind: string, entries: readonly unknown[]) => ({
    [kind]: kind === 'jwks' ? { keys: entries } : entries,
  });

  describe('checkDetails', () => {
    it('accepts details, and none', () => {
      expect(checkDetails(DETAILS)).toEqual({ ok: true, value: DETAILS });
      expect(checkDetails(NO_DETAILS).ok).toBe(true);
    });

    it.each([
      ['secrets', (n: number) => ({ ...SECRET, secret_id: `cs-${n}` })],
      ['jwks', () => newKey()],
      ['federated_subjects', (n: number) => ({ ...SUBJECT, subject: `s-${n}` })],
      ['resources', (n: number) => `${RESOURCE}/${n}`],
    ] as const)('accepts as many %s as there may be, and not one more', (kind, make) => {
      const most = DETAILS_MAX[kind];
      const entries = Array.from({ length: most + 1 }, (_, n) => make(n));
      expect(checkDetails({ ...NO_DETAILS, ...listed(kind, entries.slice(1)) }).ok).toBe(true);
      expect(checkDetails({ ...NO_DETAILS, ...listed(kind, entries) })).toEqual({
        ok: false,
        problem: { kind, position: undefined, rule: `must be at most ${most}` },
      });
    });

    it.each(['', 'x'.repeat(256), 'a\nb', 'a\u200b', 7])('refuses an owner that is no name: %j', (owner) => {
      const rule = 'must have 1 to 255 characters that can be seen';
      const problem = { kind: 'owner', position: undefined, rule };
      expect(checkDetails({ ...NO_DETAILS, owner: owner as string })).toEqual({ ok: false, problem });
    });

    it('refuses two keys of one name, of which an assertion could only mean one', () => {
      const named = (kid: string) => ({ ...newKey(), kid });
      const checked = checkDetails({
        ...NO_DETAILS,
        jwks: { keys: [newKey(), named('k'), named('other'), named('k')] },
      });
      expect(checked).toEqual({
        ok: false,
        problem: { kind: 'jwks', position: 3, rule: 'has the kid of another one' },
      });
    });

    it.each([
      ['secrets', [SECRET, { ...SECRET, name: 'second' }]],
      ['jwks', [JWK, { ...JWK, kid: 'another name' }]],
      ['federated_subjects', [SUBJECT, { ...SUBJECT, claims: {} }]],
      ['resources', [RESOURCE, RESOURCE]],
    ] as const)('refuses two %s that cannot be distinguished', (kind, entries) => {
      const checked = checkDetails({ ...NO_DETAILS, ...listed(kind, entries) });
      expect(checked).toEqual({ ok: false, problem: { kind, position: 1, rule: 'is repeated' } });
    });

    it.each([
      ['a name of 255 characters', { secrets: [{ ...SECRET, name: 'x'.repeat(255) }] }],
      ['an owner of 255 characters', { owner: 'x'.repeat(255) }],
      ['a secret that expired at once', { secrets: [{ ...SECRET, expires_at: 0 }] }],
      ['a plain secret behind its id', { secrets: [{ ...SECRET, client_secret: '{noop}cs-1.the-rest' }] }],
      ['a subject of 2,000 characters', { federated_subjects: [{ ...SUBJECT, subject: 'x'.repeat(2_000) }] }],
      [
        'twenty claims',
        {
          federated_subjects: [
            { ...SUBJECT, claims: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`/${n}`, 'x'])) },
          ],
        },
      ],
      ['spaces within a subject', { federated_subjects: [{ ...SUBJECT, subject: 'environment: Prod EU' }] }],
      ['the last second of the year 9999', { secrets: [{ ...SECRET, expires_at: 253_402_300_799 }] }],
      ['2,000 characters of scopes', { resources: [{ resource: RESOURCE, scope: 's'.repeat(2_000) }] }],
      ['keys of the same name only where they have one', { jwks: { keys: [newKey(), newKey()] } }],
    ])('accepts %s', (_what, details) => {
      expect(checkDetails({ ...NO_DETAILS, ...details }).ok).toBe(true);
    });

    it.each([
      ['secrets', { ...SECRET, client_secret: '{noop}cs-2.the-rest' }, /client_secret must begin with its secret_id/],
      ['secrets', { ...SECRET, secret_id: 'a b' }, /secret_id/],
      ['secrets', { ...SECRET, secret_id: 'x'.repeat(65) }, /secret_id/],
      ['secrets', { ...SECRET, name: '' }, /name/],
      ['secrets', { ...SECRET, name: 'a\nb' }, /name/],
      ['secrets', { ...SECRET, client_secret: 'plain-secret' }, /BCrypt/],
      ['secrets', { ...SECRET, expires_at: 1.5 }, /expires_at/],
      ['secrets', { ...SECRET, expires_at: -1 }, /expires_at/],
      ['secrets', { ...SECRET, expires_at: 1_800_000_000_000 }, /before the year 10000, in seconds, not milliseconds/],
      ['jwks', { ...JWK, expires_at: 253_402_300_800 }, /seconds, not milliseconds/],
      [
        'secrets',
        { ...SECRET, client_secret: '{noop}cs-1.the-rest\n' },
        /no line break, control or invisible character/,
      ],
      [
        'federated_subjects',
        { issuer: 'https://a.test', subject: 'a\u200b', claims: {} },
        /must not begin or end with a space or an invisible/,
      ],
      ['jwks', { ...JWK, x: 'AAAA' }, /base64url/],
      ['jwks', { ...JWK, expires_at: Number.NaN }, /expires_at/],
      ['federated_subjects', { ...SUBJECT, issuer: '' }, /issuer/],
      ['federated_subjects', { ...SUBJECT, subject: 'x'.repeat(2_001) }, /subject/],
      ['federated_subjects', { ...SUBJECT, claims: { '/a': '' } }, /claims/],
      ['federated_subjects', { ...SUBJECT, claims: { repository_id: '1' } }, /JSON pointers/],
      [
        'federated_subjects',
        { ...SUBJECT, claims: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [n, 'x'])) },
        /at most 20/,
      ],
      ['resources', 'https://api.example/#part', /without a fragment/],
      ['resources', '/v1', /absolute URI/],
      ['resources', 'urn:', /absolute URI/],
      ['resources', 'https://api.example/a b', /absolute URI/],
      ['resources', { resource: '/v1', scope: 'read' }, /absolute URI/],
      ['resources', { resource: RESOURCE, scope: 's'.repeat(2_001) }, /scope must have at most 2000 characters/],
      ['resources', { resource: RESOURCE, scope: 'read  write' }, /scope must be scope tokens/],
      ['federated_subjects', { ...SUBJECT, subject: '\u00a0a' }, /must not begin or end with a space/],
      ['federated_subjects', { ...SUBJECT, subject: 'a\ud800' }, /subject must have 1 to 2000 characters/],
      ['secrets', { ...SECRET, name: 'x'.repeat(256) }, /name must have 1 to 255 characters/],
    ])('refuses one of the %s: %j', (kind, entry, rule) => {
      const checked = checkDetails({ ...NO_DETAILS, ...listed(kind, [entry]) });
      expect(checked).toEqual({ ok: false, problem: { kind, position: 0, rule: expect.stringMatching(rule) } });
      expect(JSON.stringify(checked)).not.toContain('plain-secret');
    });

    it.each([
      ['claims', { iss: 'x' }, /^must not set iss,/],
      ['token_lifetime_seconds', 0, /^must be a whole number of seconds from 1 to 86400$/],
      ['audiences', [], /^must be an array of 1 to 50 different texts$/],
      ['audiences', ['a', 'a'], /different texts$/],
      ['audiences', ['a', 7], /different texts$/],
      ['audiences', ['a\u202e'], /different texts$/],
      ['audiences', ['a'.repeat(2_001)], /different texts$/],
      ['audiences', Array.from({ length: 51 }, (_, number) => `a${number}`), /different texts$/],
      ['audiences', 'a', /different texts$/],
      ['grant_types', [], /^must be an array of client_credentials and jwt-bearer/],
      ['grant_types', ['implicit'], /^must be an array of client_credentials and jwt-bearer/],
      ['grant_types', ['jwt-bearer', 'urn:ietf:params:oauth:grant-type:jwt-bearer'], /each at most once$/],
    ])('refuses %s as a whole', (kind, value, rule) => {
      const problem = { kind, position: undefined, rule: expect.stringMatching(rule) };
      expect(checkDetails({ ...NO_DETAILS, [kind]: value })).toEqual({ ok: false, problem });
    });

    it('accepts a lifetime of 1 to 86,400 whole seconds, or none', () => {
      const accepts = (token_lifetime_seconds: unknown) =>
        checkDetails({ ...NO_DETAILS, token_lifetime_seconds } as ClientDetails).ok;
      expect([1, 60, 86_400, null].map(accepts)).toEqual([true, true, true, true]);
      expect([0, 86_401, 1.5, '60', true, {}].map(accepts)).toEqual([false, false, false, false, false, false]);
    });

    it('refuses an end of the secret in the column that is no time', () => {
      const problem = {
        kind: 'client_secret_expires_at',
        position: undefined,
        rule: 'must be a time in whole seconds since the epoch',
      };
      expect(checkDetails({ ...NO_DETAILS, client_secret_expires_at: 1.5 })).toEqual({ ok: false, problem });
      expect(checkDetails({ ...NO_DETAILS, client_secret_expires_at: 1 }).ok).toBe(true);
    });

    it('says that something has expired from its last second on', () => {
      expect([9, 10, 11].map((now) => hasExpired({ expires_at: 10 }, now))).toEqual([false, true, true]);
      expect(hasExpired({}, Number.MAX_SAFE_INTEGER)).toBe(false);
    });
  });

  describe('the document of details', () => {
    it('leaves out what is empty, and nothing else', () => {
      expect(withoutEmpty(NO_DETAILS)).toStrictEqual({});
      expect(withoutEmpty({ ...NO_DETAILS, ...DETAILS })).toStrictEqual(DETAILS);
      const claims = { keys: [], groups: ['a'] };
      expect(withoutEmpty({ ...NO_DETAILS, claims })).toStrictEqual({ claims });
    });

    it('gives every key, or the rule that it breaks; an end that nobody can read has passed', () => {
      const given = [JWK, { ...JWK, expires_at: 5 }, { ...JWK, expires_at: 'soon' }, { ...JWK, d: 'AAAA' }];
      expect(readKeys({ jwks: { keys: [...given, null, 'text', [JWK]] } })).toStrictEqual([
        { ok: true, value: JWK },
        { ok: true, value: { ...JWK, expires_at: 5 } },
        { ok: true, value: { ...JWK, expires_at: 0 } },
        { ok: false, problem: expect.stringContaining('private or a symmetric key') },
      ]);
      for (const jwks of [undefined, null, [JWK], { keys: JWK }]) expect(readKeys({ jwks })).toEqual([]);
    });

    it('gives the keys of one name alone, where an assertion has a kid', () => {
      const [one, other] = [
        { ...JWK, kid: 'one' },
        { ...newKey(), kid: 'other' },
      ];
      const kidsOf = (kid?: string) =>
        readKeys({ jwks: { keys: [one, other, JWK] } }, kid).map((read) => Object(read).value.kid);
      expect([kidsOf(), kidsOf('one'), kidsOf('none')]).toEqual([['one', 'other', undefined], ['one'], []]);
    });

    it('is put together from its two columns, and refused where a field is in the wrong one', () => {
      const { credentials, details } = columnsOf(DETAILS);
      expect(Object.keys(credentials)).toEqual(['secrets', 'jwks', 'federated_subjects']);
      expect(documentIn(credentials, details)).toEqual({ ok: true, value: DETAILS });
      for (const [field, inCredentials, inDetails] of [
        ['secrets', {}, { secrets: [] }],
        ['resources', { resources: [] }, {}],
        ['owner', { owner: 'a' }, {}],
      ] as const) {
        const problem = `${field} is in the wrong one of the columns credentials and details`;
        expect(documentIn(inCredentials, inDetails)).toEqual({ ok: false, problem });
      }
      for (const [inCredentials, inDetails] of [
        [null, {}],
        [{}, [1]],
        ['a', {}],
      ] as const) {
        expect(documentIn(inCredentials, inDetails)).toEqual({ ok: false, problem: 'must be an object' });
      }
    });

    it('has credentials of at most 6 KiB of UTF-8, of which the longest field is named', () => {
      const subjectsOf = (length: number) => [{ issuer: 'i', subject: 'é'.repeat(length), claims: {} }];
      const bytes = Buffer.byteLength(JSON.stringify({ secrets: [SECRET], federated_subjects: subjectsOf(0) }));
      const most = Math.floor((CREDENTIALS_BYTES_MAX - bytes) / 2);
      const sizeOf = (length: number) =>
        excessOf({ secrets: [SECRET], federated_subjects: subjectsOf(length), owner: 'x'.repeat(9_000) });
      expect(sizeOf(most)).toBeUndefined();
      expect(sizeOf(most + 1)).toEqual({ field: 'federated_subjects', bytes: bytes + 2 * (most + 1) });
    });

    it('is recorded without the values of claims', () => {
      expect(recordedFieldsOf(NO_FIELDS)).toStrictEqual({
        claims: [],
        token_lifetime_seconds: null,
        grant_types: null,
        audiences: null,
        owner: null,
      });
      expect(recordedFieldsOf(DETAILS)).toStrictEqual({
        claims: ['tenant', 'groups'],
        token_lifetime_seconds: 60,
        grant_types: ['jwt-bearer'],
        audiences: ['https://api.example/v1'],
        owner: 'team-a',
      });
    });

    it('has 1 to 50 different audiences of 1 to 2,000 characters that can be seen, or none', () => {
      const ruleOf = (audiences: unknown) => CLIENT_FIELDS.audiences.ruleOf(audiences);
      const texts = Array.from({ length: 51 }, (_, n) => `https://${n}.example`);
      for (const good of [null, ['a'], texts.slice(1), ['a'.repeat(2_000)]]) expect(ruleOf(good)).toBeUndefined();
      for (const bad of [
        [],
        texts,
        ['a'.repeat(2_001)],
        [''],
        [1],
        ['a', 'a'],
        ['a\u200b'],
        'a',
        { 0: 'a' },
        undefined,
      ]) {
        expect(ruleOf(bad)).toBe('must be an array of 1 to 50 different texts');
      }
    });

    it('gives the resources, but for those whose scopes nobody can read', () => {
      const good = [RESOURCE, { resource: RESOURCE, scope: 'read write' }];
      const bad = [null, 7, { resource: RESOURCE }, { scope: 'read' }, { resource: RESOURCE, scope: 'a  b' }];
      const more = [
        { resource: RESOURCE, scope: ['read'] },
        { resource: '/v1', scope: 'read' },
        { resource: [RESOURCE], scope: 'read' },
      ];
      expect(readResources({ resources: [...bad, ...good, ...more] })).toEqual(good);
      for (const resources of [undefined, RESOURCE, { 0: RESOURCE }]) expect(readResources({ resources })).toEqual([]);
    });

    it('gives what the tokens have as it is stored, and nothing of what is absent', () => {
      expect(readTokenFields({})).toStrictEqual({});
      const fields = readTokenFields({ claims: ['broken'], token_lifetime_seconds: null, other: 1 });
      expect(fields).toStrictEqual({ claims: ['broken'], token_lifetime_seconds: null });
    });

    it.each([
      ['texts', SUBJECT.claims, SUBJECT.claims],
      ['none', {}, {}],
      ['a number', { '/a': 'b', '/repository_id': 1 }, undefined],
      ['a list', ['a'], undefined],
      ['null', null, undefined],
      ['a text', 'a', undefined],
      ['nothing', undefined, undefined],
    ])('gives the conditions of the rules for an identity: %s', (_what, claims, expected) => {
      const others = [{ ...SUBJECT, subject: 'another' }, { ...SUBJECT, issuer: 'another' }, null, 'text', []];
      const document = { federated_subjects: [...others, { ...SUBJECT, claims }, { ...SUBJECT, claims: {} }] };
      expect(readConditions(document, SUBJECT)).toEqual([expected, {}]);
    });

    it('has no rules if they are no list', () => {
      expect([{}, { federated_subjects: { 0: SUBJECT } }].map((one) => readConditions(one, SUBJECT))).toEqual([[], []]);
    });
  });
});

describe('unprintable characters', () => {
  it.each([
    ['a line feed', '\n', '\\u000a'],
    ['DEL', '\u007f', '\\u007f'],
    ['what begins a sequence for terminals', '\u009b', '\\u009b'],
    ['a zero-width space', '\u200b', '\\u200b'],
    ['a line separator', '\u2028', '\\u2028'],
    ['a tag beyond 16 bits', '\u{e0001}', '\\udb40\\udc01'],
    ['half of a pair of surrogates', '\ud800', '\\ud800'],
  ])('are escaped in JSON: %s', (_what, character, escaped) => {
    for (const text of [character, `a${character}b${character}`]) {
      expect(hasUnprintable(text)).toBe(true);
      expect(printableJsonText(`"${text}"`)).toBe(`"${text.replaceAll(character, escaped)}"`);
    }
  });

  it.each(['', 'a', 'é', '😀', ' ', '東'])('are none of %j', (text) => {
    expect([hasUnprintable(text), printableJsonText(text)]).toEqual([false, text]);
  });
});

describe('stored secrets', () => {
  const TAIL = `${'abcdefghijklmnopqrstuv'}${'A'.repeat(31)}`;

  describe('StoredSecret', () => {
    it.each(['$2a$10$', '$2b$10$', '$2y$10$', '$2b$04$', '$2b$14$'])('recognizes %s… as BCrypt', (head) => {
      const secret = StoredSecret.parse(head + TAIL);
      expect(secret).toMatchObject({ kind: 'bcrypt', cost: Number(head.slice(4, 6)) });
      expect(secret.reveal()).toBe(head + TAIL);
    });

    it.each([
      ['a cost below 4', `$2b$03$${TAIL}`],
      ['a cost above 14', `$2b$15$${TAIL}`],
      ['a cost of one digit', `$2b$9$${TAIL}`],
      ['the version of a broken encoder', `$2x$10$${TAIL}`],
      ['no version', `$2$10$${TAIL}`],
      ['a truncated hash', `$2b$10$${TAIL.slice(1)}`],
      ['a hash followed by a character', `$2b$10$${TAIL}A`],
      ['a hash followed by a line feed', `$2b$10$${TAIL}\n`],
      ['a character outside its base64 alphabet', `$2b$10$+${TAIL.slice(1)}`],
      ['an unknown prefix', `{pbkdf2}$2b$10$${TAIL}`],
      ['a repeated prefix', `{bcrypt}{bcrypt}$2b$10$${TAIL}`],
      ['a prefix without a hash', '{bcrypt}plain'],
      ['a locked hash', `!$2b$10$${TAIL}`],
      ['a plain secret without its prefix', 'plain'],
      ['an empty plain secret', '{noop}'],
      ['a plain secret of 73 bytes', `{noop}${'a'.repeat(73)}`],
      ['a plain secret with a NUL', '{noop}a\0b'],
    ])('treats %s as unusable', (_name, encoded) => {
      expect(StoredSecret.parse(encoded).kind).toBe('unusable');
    });

    it('reads a BCrypt encoding behind the prefix of Spring Security, and reveals it without', () => {
      const secret = StoredSecret.parse(`{bcrypt}$2a$10$${TAIL}`);
      expect([secret.kind, secret.cost, secret.reveal()]).toEqual(['bcrypt', 10, `$2a$10$${TAIL}`]);
    });

    it('reveals a plain secret without its prefix', () => {
      expect(StoredSecret.parse('{noop}plain').reveal()).toBe('plain');
    });
  });

  describe('the lock of a stored secret', () => {
    const HASH = `$2b$10$${'a'.repeat(53)}`;

    it('is put in front of the hash only once', () => {
      expect(lock(HASH)).toBe(`!${HASH}`);
      expect(lock(lock(HASH))).toBe(`!${HASH}`);
      expect([HASH, lock(HASH), ''].map(isLocked)).toEqual([false, true, false]);
    });

    it('makes every secret fail', () => {
      expect(StoredSecret.parse(lock(HASH)).kind).toBe('unusable');
      expect(StoredSecret.parse(lock('{noop}plain')).kind).toBe('unusable');
    });

    it('is removed from a hash completely, even if it was put there several times by hand', () => {
      expect(unlock(lock(HASH))).toBe(HASH);
      expect(unlock(`!!${HASH}`)).toBe(HASH);
      expect(unlock(HASH)).toBe(HASH);
      expect(unlock(`!{bcrypt}${HASH}`)).toBe(`{bcrypt}${HASH}`);
    });

    it.each(['!', '!locked by hand', '!{noop}plain', '!*x', '!!'])('stays if no hash is behind it: %s', (stored) => {
      expect(unlock(stored)).toBe(stored);
    });

    it('is kept when the secret is replaced', () => {
      expect(replaceSecret(HASH, '$2b$new')).toBe('$2b$new');
      expect(replaceSecret(lock(HASH), '$2b$new')).toBe('!$2b$new');
      expect(replaceSecret(lock(HASH), lock('$2b$new'))).toBe('!$2b$new');
    });
  });

  describe('isPresentableSecret', () => {
    it('counts bytes of UTF-8, not characters, for every text', () => {
      fc.assert(
        fc.property(anyText({ minLength: 1, maxLength: 80 }), (text) => {
          const presentable = Buffer.byteLength(text) <= 72 && !text.includes('\0');
          expect(isPresentableSecret(text)).toBe(presentable);
        }),
      );
    });

    it.each(['', '\0', 'a\0', 'a'.repeat(73)])('refuses %j', (secret) => {
      expect(isPresentableSecret(secret)).toBe(false);
    });
  });

  describe('the limit of 72 bytes, for characters of each size in UTF-8', () => {
    it.each([
      ['one byte', 'a', 1],
      ['the last one of one byte', '\u007f', 1],
      ['the first one of two bytes', '\u0080', 2],
      ['the last one of two bytes', '\u07ff', 2],
      ['the first one of three bytes', '\u0800', 3],
      ['the last one of three bytes', '\uffff', 3],
      ['the first one of four bytes', '\u{10000}', 4],
      ['four bytes', '😀', 4],
    ])('%s', (_name, character, bytes) => {
      const longest = character.repeat(72 / bytes);
      expect(isPresentableSecret(longest)).toBe(true);
      expect(isPresentableSecret(`${longest}a`)).toBe(false);
    });
  });

  describe('unlock', () => {
    it('removes only a lock at the beginning', () => {
      expect(unlock('x!$2b$04$')).toBe('x!$2b$04$');
    });
  });

  describe('the id of a secret', () => {
    it.each([
      ['Xb3kQ9aLw2.the-rest', 'Xb3kQ9aLw2'],
      ['a.b.c', 'a'],
      ['A-_~9.x', 'A-_~9'],
      [`${'x'.repeat(32)}.y`, 'x'.repeat(32)],
      ['a-secret-without-a-dot', undefined],
      ['.nothing-in-front', undefined],
      ['nothing-behind.', undefined],
      ['a b.c', undefined],
      ['é.c', undefined],
      [`${'x'.repeat(33)}.y`, undefined],
      ['', undefined],
    ])('of %j is %j', (secret, id) => {
      expect(secretIdOf(secret)).toBe(id);
      if (id !== undefined) expect(isSecretId(id)).toBe(true);
    });

    it('selects the stored secret, unless the client is disabled or has no such secret that is valid now', () => {
      const secrets = [
        { secret_id: 'a', client_secret: '$2b$a' },
        { secret_id: 'b', client_secret: '$2b$b', expires_at: 10 },
      ];
      const select = (stored: string, now: number, id?: string) => selectSecret(stored, { secrets }, now, id);
      expect(select('$2b$column', 9, 'a')).toBe('$2b$a');
      expect(select(NO_SECRET, 9, 'b')).toBe('$2b$b');
      expect(select('$2b$column', 10, 'b')).toBe('$2b$column');
      expect(select('$2b$column', 9, 'c')).toBe('$2b$column');
      expect(select('$2b$column', 9)).toBe('$2b$column');
      expect(select('!$2b$column', 9, 'a')).toBe('!$2b$column');
      expect(select('!*', 9, 'a')).toBe('!*');
    });

    it.each([
      ['the one in the column until it ends', 9, undefined, '$2b$column'],
      ['none from then on', 10, undefined, NO_SECRET],
      ['none in place of another that is unknown', 10, 'b', NO_SECRET],
      ['another one that goes on', 10, 'a', '$2b$a'],
    ])('selects %s', (_what, now, id, expected) => {
      const document = { client_secret_expires_at: 10, secrets: [{ secret_id: 'a', client_secret: '$2b$a' }] };
      expect(selectSecret('$2b$column', document, now, id)).toBe(expected);
      expect(selectSecret('!$2b$column', document, now, id)).toBe('!$2b$column');
    });

    it.each<[string, boolean, string, object]>([
      ['that somebody may have chosen', true, `$2b$09$${TAIL}`, {}],
      ['behind a lock', true, `!$2b$09$${TAIL}`, {}],
      ['that is generated', false, `$2b$09$${TAIL}`, { client_secret_generated: true }],
      ['that only looks generated', true, `$2b$09$${TAIL}`, { client_secret_generated: 'yes' }],
      ['that is valid for another second', true, `$2b$09$${TAIL}`, { client_secret_expires_at: 11 }],
      ['that has expired', false, `$2b$09$${TAIL}`, { client_secret_expires_at: 10 }],
      ['of a high cost', false, `$2b$10$${TAIL}`, {}],
      ['that is no BCrypt encoding', false, '{noop}plain', {}],
      ['with an id', true, NO_SECRET, { secrets: [{ secret_id: 'a', client_secret: `$2b$04$${TAIL}` }] }],
      ['with an id, generated', false, NO_SECRET, { secrets: [{ client_secret: `$2b$04$${TAIL}`, generated: true }] }],
      ['with an id, expired', false, NO_SECRET, { secrets: [{ client_secret: `$2b$04$${TAIL}`, expires_at: 10 }] }],
      ['that is no text', false, NO_SECRET, { secrets: [{ client_secret: 7 }, null] }],
    ])('can be guessed from the table for one %s: %s', (_what, expected, stored, document) => {
      expect(hasWeakSecret(stored, { ...document }, 10)).toBe(expected);
    });

    it.each([
      undefined,
      null,
      7,
      'text',
      {},
      [null, 7, []],
      [{ secret_id: 'a' }],
      [{ secret_id: 'a', client_secret: 7 }],
    ])('selects nothing of secrets that another program has broken: %j', (secrets) => {
      expect(selectSecret('$2b$column', { secrets }, 9, 'a')).toBe('$2b$column');
    });
  });
});

describe('Scope (RFC 6749 section 3.3)', () => {
  it.each(['read', 'read write', 'a', '!', '#[]~', 'https://example.com/a?b=c', 'read,write'])('reads %s', (text) => {
    const scope = Scope.parse(text);
    expect(scope.ok && scope.value.toString()).toBe(text);
  });

  it.each(['', ' ', ' read', 'read ', 'read  write', 'read\twrite', 'a"b', 'a\\b', 'é', 'a\u007f', 'read\n'])(
    'refuses %j',
    (text) => {
      expect(Scope.parse(text)).toEqual({ ok: false, problem: 'malformed' });
    },
  );

  it('counts a repeated token once', () => {
    const scope = Scope.parse('b a b');
    expect(scope.ok && scope.value.toArray()).toEqual(['b', 'a']);
  });

  const tokens = fc.uniqueArray(fc.stringMatching(/^[\x21\x23-\x5B\x5D-\x7E]{1,8}$/), { minLength: 1, maxLength: 6 });
  const parsed = (list: readonly string[]) => {
    const scope = Scope.parse(list.join(' '));
    if (!scope.ok) throw new Error(`refused ${list.join(' ')}`);
    return scope.value;
  };

  it('parses what it prints, for every list of tokens', () => {
    fc.assert(fc.property(tokens, (list) => expect(parsed(list).toArray()).toEqual(list)));
  });

  it('is a subset exactly if each of its tokens is in the other', () => {
    fc.assert(
      fc.property(tokens, tokens, (one, other) => {
        expect(parsed(one).firstBeyond(parsed(other))).toBe(one.find((token) => !other.includes(token)));
      }),
    );
  });
});

describe('resource indicators', () => {
  describe('isResourceIndicator', () => {
    it.each([
      'https://api.example.com',
      'https://api.example.com/',
      'https://api.example.com:8443/v1/things?tenant=a%20b',
      'http://[::1]:8080/mcp',
      'urn:example:api',
      'spiffe://example.org/api',
      'api:things',
      `https://api.example.com/${'a'.repeat(1_976)}`,
    ])('accepts %s', (text) => {
      expect(isResourceIndicator(text)).toBe(true);
    });

    it.each([
      ['nothing', ''],
      ['a name', 'api'],
      ['a path', '/v1/things'],
      ['a scheme alone', 'https:'],
      ['no scheme', '//api.example.com'],
      ['a scheme that begins with a digit', '1api:things'],
      ['a fragment', 'https://api.example.com#v1'],
      ['an empty fragment', 'https://api.example.com#'],
      ['a space', 'https://api.example.com/a b'],
      ['a space before', ' https://api.example.com'],
      ['a line feed behind', 'https://api.example.com\n'],
      ['a character beyond ASCII', 'https://äpi.example.com'],
      ['a broken percent-encoding', 'https://api.example.com/%zz'],
      ['half of a percent-encoding', 'https://api.example.com/%4'],
      ['a quotation mark', 'https://api.example.com/"'],
      ['a backslash', 'https://api.example.com\\@evil.example'],
      ['2,001 characters', `https://api.example.com/${'a'.repeat(1_977)}`],
    ])('refuses a text with %s', (_what, text) => {
      expect(isResourceIndicator(text)).toBe(false);
    });
  });

  describe('selectResources', () => {
    it.each([
      ['https://api.example.com', 'https://api.example.com/'],
      ['https://api.example.com/', 'https://api.example.com'],
      ['http://localhost:3000', 'http://localhost:3000/'],
    ])('ignores one slash behind an origin: registered %s, requested %s', (registered, requested) => {
      expect(selectResources([registered], [requested])).toEqual([registered]);
    });

    it.each([
      ['https://api.example.com/v1', 'https://api.example.com/v1/'],
      ['https://api.example.com/v1/', 'https://api.example.com/v1'],
      ['https://api.example.com', 'https://api.example.com//'],
      ['https://api.example.com?a', 'https://api.example.com/?a'],
      ['https://api.example.com', 'https://api.example.com/v1'],
      ['https://api.example.com', 'urn:https://api.example.com'],
      ['https://api.example.com', 'https://API.example.com'],
      ['https://api.example.com', 'HTTPS://api.example.com'],
      ['https://api.example.com', 'https://api.example.com:443'],
      ['https://api.example.com', 'https://api.example.com.'],
      ['https://api.example.com/%41', 'https://api.example.com/A'],
      ['urn:example:api', 'urn:example:api/'],
    ])('finds nothing else similar: registered %s, requested %s', (registered, requested) => {
      expect(selectResources([registered], [requested])).toBeUndefined();
    });

    it('prefers the exact spelling if both are registered', () => {
      const both = ['https://api.example.com', 'https://api.example.com/'];
      expect(selectResources(both, ['https://api.example.com/'])).toEqual(['https://api.example.com/']);
      expect(selectResources(both, both)).toEqual(both);
    });

    it('returns each resource once, in the order of the request', () => {
      const registered = ['https://a.example', 'https://b.example', 'https://c.example'];
      const requested = ['https://c.example', 'https://a.example/', 'https://a.example', 'https://c.example'];
      expect(selectResources(registered, requested)).toEqual(['https://c.example', 'https://a.example']);
    });

    it('returns none for a request that names none, and refuses a request of which one is not registered', () => {
      expect(selectResources(['https://a.example'], [])).toEqual([]);
      expect(selectResources([], ['https://a.example'])).toBeUndefined();
      expect(selectResources(['https://a.example'], ['https://a.example', 'https://b.example'])).toBeUndefined();
    });
  });
});
