import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readClientEntries, readClientsFile } from '../../../adapters/files/clients-file.ts';
import { jsonFault, jsonReader } from '../../../adapters/files/json-fault.ts';
import type { SecretRules } from '../../../adapters/files/secret-reference.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { failure, success } from '../../../domain/result.ts';
import { BAD_DETAILS, BAD_FIELDS, SCOPED } from '../../support/bad-details.ts';

const OF_TOKENS = { claims: { tenant: 'acme' }, token_lifetime_seconds: 60 };

/** Of a service: references are read, and nothing is generated. */
const SERVICE: SecretRules = {
  plain: 'accepted',
  read: (reference) => ('file' in reference ? success('from-a-file\n') : failure('refers to nothing')),
};

describe('the clients file', () => {
  const ENTRY = { client_id: 'a', client_secret: '{noop}its-secret', client_name: 'A', scope: 'read' };
  const BCRYPT = `$2b$10$${'a'.repeat(53)}`;

  function problemsOf(value: unknown): readonly string[] {
    const clients = readClientsFile(typeof value === 'string' ? value : JSON.stringify(value), SERVICE);
    return clients.ok ? [] : clients.problem;
  }

  describe('readClientsFile', () => {
    it('reads registrations with BCrypt and {noop} secrets', () => {
      const clients = readClientsFile(
        JSON.stringify([ENTRY, { ...ENTRY, client_id: 'b', client_secret: BCRYPT }]),
        SERVICE,
      );
      expect(clients).toEqual({
        ok: true,
        value: [
          { clientId: 'a', clientSecret: '{noop}its-secret', clientName: 'A', scope: 'read' },
          { clientId: 'b', clientSecret: BCRYPT, clientName: 'A', scope: 'read' },
        ],
      });
    });

    it.each([
      ['not JSON', '{"client_secret": "its-secret"', 'must be a JSON array'],
      ['empty', '', 'must be a JSON array'],
      ['an object', { ...ENTRY }, 'must be a JSON array'],
      ['an entry that is not an object', ['its-secret'], 'entry 0: it must be an object'],
      ['an entry that is an array', [[]], 'entry 0: it must be an object'],
      [
        'a missing field',
        [ENTRY, { ...ENTRY, client_id: 'b', scope: undefined }],
        'entry 1: client b: scope is missing',
      ],
      ['a client_id that appears twice', [ENTRY, ENTRY], 'entry 1: client a: client_id is that of entry 0'],
      ...BAD_FIELDS.map(([what, fields, problem]) => [what, [{ ...ENTRY, ...fields }], problem] as const),
    ])('names the position and field of a problem: %s', (_name, file, problem) => {
      const problems = problemsOf(file);
      expect(problems).toEqual([problem]);
      expect(problems.join()).not.toContain('its-secret');
    });

    it('reads what other methods need, and a client without a secret', () => {
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32, 1).toString('base64url') };
      const subject = { issuer: 'https://issuer.example', subject: 's', claims: { '/a': 'b' } };
      const { client_secret, ...withoutSecret } = ENTRY;
      const secrets = [{ secret_id: 'cs1', name: 'new', client_secret: BCRYPT, expires_at: 9 }];
      const entries = [
        { ...withoutSecret, jwks: { keys: [{ ...jwk, kid: 'k', expires_at: 7 }] }, federated_subjects: [subject] },
        { ...ENTRY, client_id: 'b', secrets, resources: ['https://api.example', SCOPED], ...OF_TOKENS },
      ];
      const clients = readClientsFile(JSON.stringify(entries), SERVICE);
      if (!clients.ok) throw new Error(clients.problem.join());
      expect(clients.value).toMatchObject([
        {
          clientSecret: '*',
          details: { jwks: { keys: [{ ...jwk, kid: 'k', expires_at: 7 }] }, federated_subjects: [subject] },
        },
        {
          clientSecret: client_secret,
          details: {
            secrets: [{ secret_id: 'cs1', name: 'new', client_secret: BCRYPT, expires_at: 9 }],
            resources: ['https://api.example', SCOPED],
            claims: OF_TOKENS.claims,
            token_lifetime_seconds: 60,
          },
        },
      ]);
    });

    it.each(BAD_DETAILS)('names the field of a problem: %s', (_name, fields, problem) => {
      const expected = problem instanceof RegExp ? problem.source.replace('^', '') : problem;
      const problems = problemsOf([{ ...ENTRY, ...fields }]);
      expect(problems).toEqual([expect.stringContaining(expected)]);
      expect(problems.join()).not.toContain('its-secret');
    });

    it.each([
      ['resources alone', { resources: ['https://api.example'] }],
      ['nothing', {}],
    ])('needs a client_secret for a client with %s', (_what, fields) => {
      expect(problemsOf([{ ...ENTRY, ...fields, client_secret: undefined }])).toEqual([
        'entry 0: client a: client_secret is missing',
      ]);
    });

    it('reads a client without a secret if it has secrets with ids, keys or subjects, and without a time what does not expire', () => {
      const { client_secret, ...client } = ENTRY;
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32, 1).toString('base64url') };
      const read = (fields: object) => {
        const clients = readClientsFile(JSON.stringify([{ ...client, ...fields }]), SERVICE);
        return clients.ok ? clients.value[0]?.details : clients.problem;
      };
      expect(read({ secrets: [{ secret_id: 'cs1', name: 'new', client_secret: BCRYPT }] })).toEqual({
        secrets: [{ secret_id: 'cs1', name: 'new', client_secret: BCRYPT }],
      });
      expect(read({ jwks: { keys: [jwk], others: true } })).toEqual({ jwks: { keys: [jwk] } });
      expect(read({ federated_subjects: [{ issuer: 'https://i.example', subject: 's' }] })).toEqual(
        expect.objectContaining({ federated_subjects: [{ issuer: 'https://i.example', subject: 's', claims: {} }] }),
      );
    });

    it.each(['*', '!*', `!${BCRYPT}`, `!!${BCRYPT}`])(
      'reads a client without a secret, or with a lock: %s',
      (client_secret) => {
        expect(readClientsFile(JSON.stringify([{ ...ENTRY, client_secret }]), SERVICE)).toMatchObject({
          ok: true,
          value: [{ clientSecret: client_secret }],
        });
      },
    );

    it.each(['!', '!{noop}its-secret', '!its-secret', '**'])(
      'refuses a lock with nothing behind it: %s',
      (client_secret) => {
        expect(problemsOf([{ ...ENTRY, client_secret }])).toEqual([
          expect.stringMatching(/^entry 0: client a: client_secret must be/),
        ]);
      },
    );

    it('reports every problem at once', () => {
      expect(problemsOf([{}, ENTRY, { ...ENTRY, client_secret: 'x' }])).toEqual([
        'entry 0: client_id is missing',
        'entry 0: client_secret is missing',
        'entry 0: client_name is missing',
        'entry 0: scope is missing',
        'entry 2: client a: client_secret must be a BCrypt encoding of cost 4 to 14, or {noop} and a secret of 1 to 72 bytes',
        'entry 2: client a: client_id is that of entry 1',
      ]);
    });
  });

  describe('readClientEntries', () => {
    const stream = (text: string, format: 'json' | 'yaml' = 'json', rules = SERVICE) =>
      readClientEntries(Buffer.from(text), format, rules);

    it('reads the same registrations as readClientsFile', async () => {
      const file = JSON.stringify([ENTRY, { ...ENTRY, client_id: 'b', client_secret: BCRYPT }]);
      const clients = readClientsFile(file, SERVICE);
      expect(clients.ok && (await stream(file))).toEqual(
        clients.ok && clients.value.map((value) => ({ ok: true, value })),
      );
    });

    it('names the position and the field of each problem, and never a value', async () => {
      const many = Array.from({ length: 1_000 }, (_, n) => ({ ...ENTRY, client_id: `client-${n}` }));
      const broken = [
        { ...ENTRY, secrets: [{ secret_id: 'a', client_secret: BCRYPT }] },
        'its-secret',
        { ...ENTRY, scope: '' },
      ];
      const entries = await stream(JSON.stringify([...many, ...broken]));
      const problems = entries.flatMap((entry) => (entry.ok ? [] : entry.problem));
      expect(problems).toEqual([
        { position: 1_000, text: 'client a: secrets.0.name is missing' },
        { position: 1_001, text: 'it must be an object' },
        {
          position: 1_002,
          text: 'client a: scope must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)',
        },
      ]);
    });

    it.each([
      ['"its-secret"', [{ text: 'must be a JSON array' }]],
      ['', [{ text: 'is not JSON: the text is empty' }]],
      ['[its-secret]', [{ text: 'is not JSON: line 1, column 2: a value is missing, or is not JSON' }]],
      [
        '[{}, {"a": 1, "a": "its-secret"}]',
        [{ text: 'is not JSON: line 1, column 15: a field that this object has already' }],
      ],
      ['\ufeff[]', [{ text: 'is not JSON: line 1, column 1: a byte order mark: save the file as UTF-8 without it' }]],
    ])('says of %j what is wrong', async (text, problem) => {
      expect(await stream(text)).toEqual([{ ok: false, problem }]);
    });

    it.each([
      ['UTF-16, the low byte first', Buffer.from('\ufeff[]', 'utf16le'), 'is in UTF-16: save it as UTF-8'],
      ['UTF-16, the high byte first', Buffer.from([0xfe, 0xff, 0, 0x5b]), 'is in UTF-16: save it as UTF-8'],
      ['Latin-1', Buffer.from('["\u00e9"]', 'latin1'), 'is not in UTF-8: save it as UTF-8'],
    ])('refuses a file in %s, in both formats', async (_what, bytes, text) => {
      for (const format of ['json', 'yaml'] as const) {
        expect(await readClientEntries(bytes, format, SERVICE)).toEqual([{ ok: false, problem: [{ text }] }]);
      }
    });

    it.each(['3', 'true', 'null'])('refuses %s, which is no client', async (text) => {
      expect(await stream(text)).toEqual([{ ok: false, problem: [{ text: 'must be a JSON array' }] }]);
    });

    it('reads one client without an array', async () => {
      expect(await stream(JSON.stringify(ENTRY, undefined, 2))).toEqual(await stream(JSON.stringify([ENTRY])));
    });

    describe('of YAML', () => {
      const yaml = (text: string, rules?: SecretRules) => stream(text, 'yaml', rules);
      const [A, B] = ['a', 'b'].map(
        (id) => `client_id: ${id}\n  client_secret: "{noop}its-secret"\n  client_name: A\n  scope: read`,
      );

      it('reads the same registrations from a list, from documents, and from JSON', async () => {
        const json = await stream(JSON.stringify([ENTRY, { ...ENTRY, client_id: 'b' }]));
        expect(await yaml(`- ${A}\n- ${B}\n`)).toEqual(json);
        expect(await yaml(`# two teams\n---\n- ${A}\n---\n  ${B}\n...\n`)).toEqual(json);
        expect(await yaml(JSON.stringify([ENTRY, { ...ENTRY, client_id: 'b' }]))).toEqual(json);
      });

      it('refuses files that are too large', async () => {
        const many = Array.from(
          { length: 3_000 },
          (_, n) => `- {client_id: c${n}, client_secret: "*", client_name: A, scope: read}\n`,
        );
        expect(await yaml(many.join(''))).toHaveLength(3_000);
        expect(await yaml(`- ${A}\n${'#'.repeat(1_048_576)}`)).toEqual([
          {
            ok: false,
            problem: [{ text: expect.stringMatching(/^it is longer than 1048576 bytes: write it as JSON/) }],
          },
        ]);
      });

      it.each([
        ['an alias', 'a: &a its-secret\nb: *a', /^line 2, column 4: an alias/],
        ['aliases that multiply', `a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]`, /^line 2, column 8: an alias/],
        ['a binary', 'a: !!binary aXRz', /^line 1, column 13: a tag/],
        [
          'its own type',
          'a: !secret its-secret',
          /^line 1, column 4: is not YAML that can be read \(TAG_RESOLVE_FAILED\)$/,
        ],
        ['a repeated name', 'a: 1\n"a": its-secret', /^line 2, column 1: a name that this mapping has already/],
        ['a name that is a number', '1: its-secret', /^line 1, column 1: a name that is no text/],
        ['infinity', 'a: .inf', /^line 1, column 4: a number that JSON cannot carry exactly/],
        ['a hexadecimal number', 'a: 0x1f', /^line 1, column 4: a number that JSON cannot carry exactly/],
        ['a number beyond 2^53', 'a: 9007199254740993', /^line 1, column 4: a number that JSON cannot carry exactly/],
        ['a number of 20 digits', 'a: 0.10000000000000000555', /^line 1, column 4: a number that JSON cannot/],
        ['YAML 1.1, in which yes is a boolean', '%YAML 1.1\n---\na: yes', /^must be YAML 1.2/],
        [
          'a second colon',
          'a: its-secret: b',
          /can be read \([A-Z_]+\): often a tab, .* a text with a colon that needs/,
        ],
        ['an unfinished text', 'a: "its-secret', /^line 1, column 15: is not YAML that can be read/],
        ['thousands of levels', '['.repeat(50_000), /is not YAML that can be read|too many levels/],
        ['nothing', '# only a comment\n', /^the text is empty/],
      ])('refuses %s, says where, and quotes nothing', async (_what, text, problem) => {
        const [entry, ...others] = await yaml(text);
        if (entry === undefined || entry.ok) throw new Error('It was accepted.');
        expect(others).toEqual([]);
        expect(entry.problem).toEqual([{ ...entry.problem[0], text: expect.stringMatching(problem) }]);
        expect(JSON.stringify(entry)).not.toContain('its-secret');
      });

      it('reads numbers as JSON does, and no others', async () => {
        const claimsOf = async (number: string) => {
          const [entry] = await yaml(`${A}\n  claims: {n: ${number}}`.replaceAll('\n  ', '\n'));
          return entry?.ok ? Object(entry.value.details?.claims).n : 'refused';
        };
        for (const number of ['0', '-7', '12', '1.5', '-0.25', '10.125', '0.12345678901234']) {
          expect(await claimsOf(number)).toBe(Number(number));
        }
        for (const number of ['0.123456789012345', '+1', '.5', '1.', '0o7', '012']) {
          expect(await claimsOf(number)).toBe('refused');
        }
      });

      it('takes dates and yes for texts, and merges nothing', async () => {
        const claims = 'claims: {since: 2026-01-01, on: yes, "<<": {a: 1}}';
        const [entry] = await yaml(`${A}\n  ${claims}`.replaceAll('\n  ', '\n'));
        expect(entry).toMatchObject({
          ok: true,
          value: { details: { claims: { since: '2026-01-01', on: 'yes', '<<': { a: 1 } } } },
        });
      });
    });

    describe('with references to secrets', () => {
      const APPLY: SecretRules = { ...SERVICE, plain: 'refused', generate: () => undefined };
      const read = (entry: object, rules = SERVICE) => stream(JSON.stringify([{ ...ENTRY, ...entry }]), 'json', rules);

      it('reads the secret without the line break at its end, also one with an id', async () => {
        const named = { secret_id: 'from-a-file', name: 'n', client_secret: { file: 'x' } };
        const rules: SecretRules = { ...SERVICE, read: () => success('id.its-secret\r\n') };
        const secrets = [{ ...named, secret_id: 'id' }];
        const [entry] = await read({ client_secret: { env: 'A' }, secrets }, rules);
        expect(entry).toMatchObject({
          ok: true,
          value: {
            clientSecret: '{noop}id.its-secret',
            details: { secrets: [{ client_secret: '{noop}id.its-secret' }] },
          },
        });
      });

      it('takes a BCrypt encoding in a file for what it is', async () => {
        const [entry] = await read(
          { client_secret: { file: 'x' } },
          { ...SERVICE, read: () => success(`${BCRYPT}\n`) },
        );
        expect(entry).toMatchObject({ ok: true, value: { clientSecret: BCRYPT } });
      });

      it.each([
        ['one that cannot be read', { client_secret: { env: 'A_NAME' } }, SERVICE, 'client_secret refers to nothing'],
        [
          'two at once',
          { client_secret: { env: 'A', file: 'b' } },
          SERVICE,
          /^client_secret must be a BCrypt encoding, \{"file": PATH\}, \{"env": NAME\} or/,
        ],
        [
          'a number',
          { client_secret: 7 },
          SERVICE,
          /^client_secret must be a BCrypt encoding, \{"file": PATH\}, \{"env": NAME\} or/,
        ],
        [
          'a generated one for a service',
          { client_secret: { generate: 'x' } },
          SERVICE,
          'client_secret cannot be generated here: only clients apply does it',
        ],
        [
          'a generated one with an id',
          { secrets: [{ secret_id: 'a', name: 'n', client_secret: { generate: 'x' } }] },
          { ...APPLY, plain: 'accepted' } as const,
          'secrets.0.client_secret cannot be generated: only the client_secret of the client can',
        ],
        [
          'a plain secret in a file of apply',
          {},
          APPLY,
          /^client_secret must not be in the file in plain text: write \{"file": PATH\}/,
        ],
        ...[
          '$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA',
          '{argon2}$argon2id$v=19$m=65536',
          'pbkdf2_sha256$600000$salt$aGFzaA=',
          '{SSHA}aGFzaA==',
          '$6$salt$hash',
          'sha256:1000:salt:hash',
        ].map(
          (text) =>
            [
              `the hash ${text}`,
              { client_secret: text },
              APPLY,
              'client_secret is a hash, and not one of BCrypt: the client needs a new secret',
            ] as const,
        ),
        [
          'one of 80 bytes',
          { client_secret: { file: 'x' } },
          { ...SERVICE, read: () => success(`${'s'.repeat(80)}\n`) } as const,
          'client_secret refers to a secret of 80 bytes: BCrypt reads at most 72',
        ],
        [
          'an empty file',
          { client_secret: { file: 'x' } },
          { ...SERVICE, read: () => success('\n') } as const,
          /^client_secret must be/,
        ],
        [
          'one that is written without a reference',
          { client_secret: '$SECRET_BILLING' },
          APPLY,
          /^client_secret must not be in the file in plain text/,
        ],
        ...['$2b$15$abc', `!${BCRYPT}`, '*'].map(
          (text) =>
            [
              `a file with ${text.slice(0, 6)}, which is no encoding that can be used`,
              { client_secret: { file: 'x' } },
              { ...SERVICE, read: () => success(text) } as const,
              'client_secret refers to a text that looks like a BCrypt encoding, and is none of cost 4 to 14',
            ] as const,
        ),
        [
          'a generated one beside two others',
          {
            client_secret: { generate: 'x' },
            secrets: ['a', 'b'].map((id) => ({ secret_id: id, name: id, client_secret: BCRYPT })),
          },
          { ...APPLY, plain: 'accepted' } as const,
          'secrets must be at most 1 beside client_secret',
        ],
        [
          'a secret of two lines',
          { client_secret: { file: 'x' } },
          { ...SERVICE, read: () => success('its-secret\nb') } as const,
          'client_secret must have no line break, control or invisible character',
        ],
      ])('refuses %s, and names the client and the field', async (_what, entry, rules, problem) => {
        const [read1] = await read(entry, rules);
        const text =
          typeof problem === 'string'
            ? `client a: ${problem}`
            : expect.stringMatching(problem.source.replace('^', '^client a: '));
        expect(read1).toEqual({ ok: false, problem: [{ position: 0, text }] });
        expect(JSON.stringify(read1)).not.toContain('its-secret');
      });

      it('says where a generated secret goes', async () => {
        const [entry] = await read({ client_secret: { generate: 'new.txt' } }, APPLY);
        expect(entry).toMatchObject({ ok: true, value: { clientSecret: '*', generateTo: 'new.txt' } });
      });
    });
  });
});

describe('faults of JSON', () => {
  function isJson(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }

  const SECRET = 'its-secret';

  describe('jsonFault', () => {
    it.each([
      [
        'a trailing comma in an array',
        `[\n {"a": "${SECRET}"},\n]`,
        'line 2, column 21: a comma before the end of the array',
      ],
      [
        'a trailing comma in an object',
        `{"a": "${SECRET}",\n}`,
        'line 1, column 19: a comma before the end of the object',
      ],
      ['a missing comma', `["${SECRET}"\n"b"]`, 'line 2, column 1: a comma or the end of the array is missing'],
      ['a missing colon', `{"a" "${SECRET}"}`, 'line 1, column 6: a colon is missing after the name of a field'],
      [
        'a name without quotes',
        `{a: "${SECRET}"}`,
        'line 1, column 2: the name of a field in double quotes is missing',
      ],
      ['single quotes', `['${SECRET}']`, 'line 1, column 2: JSON has double quotes only'],
      ['a comment', `[ // ${SECRET}\n1]`, 'line 1, column 3: JSON has no comments'],
      [
        'a byte order mark',
        `\ufeff["${SECRET}"]`,
        'line 1, column 1: a byte order mark: save the file as UTF-8 without it',
      ],
      ['a string that does not end', `["${SECRET}]`, 'line 1, column 2: the string that begins here does not end'],
      ['a line break in a string', `["${SECRET}\n"]`, /^line 1, column 13: a line break or another control character/],
      ['an unknown escape', `["C:\\${SECRET}"]`, /^line 1, column 5: a backslash that JSON does not know/],
      ['a text without quotes', `[${SECRET}]`, 'line 1, column 2: a value is missing, or is not JSON'],
      ['a number with a zero in front', '[012]', 'line 1, column 2: a value is missing, or is not JSON'],
      ['an end in the middle', `[{"a": "${SECRET}"`, /^line 1, column 20: the text ends too early$/],
      [
        'more behind the end',
        `[]\n${SECRET}`,
        /^line 2, column 1: more text after the end of the value: several values need commas/,
      ],
      ['nothing', ' \n', 'the text is empty'],
    ])('names line, column and fix of %s, without the text', (_name, text, fault) => {
      expect(isJson(text)).toBe(false);
      expect(jsonFault(text)).toEqual(typeof fault === 'string' ? fault : expect.stringMatching(fault));
      expect(jsonFault(text)).not.toContain(SECRET);
    });

    it.each([
      [`[{"a": "${SECRET}",\n "a": 1}]`, 'line 2, column 2'],
      [`{"a": {"b": 1, "c": [], "\\u0062": 2}}`, 'line 1, column 25'],
      ['{"": 1, "": 1}', 'line 1, column 9'],
    ])('names the place of a field that an object has already: %s', (text, place) => {
      expect(parseJson(text)).toBeUndefined();
      expect(jsonFault(text)).toBe(`${place}: a field that this object has already`);
    });

    it.each(['[{"a":1},{"a":{"a":[{"a":2}]}}]', '{"a":"\\"a\\":1,","b":":"}', '{"__proto__":1,"a":1}'])(
      'finds none where each object has a field once: %s',
      (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
        expect(jsonFault(text)).toBeUndefined();
      },
    );

    it('counts characters, not the halves of surrogate pairs', () => {
      expect(jsonFault('["😀" 1]')).toBe('line 1, column 6: a comma or the end of the array is missing');
    });

    it('finds a fault if and only if JSON.parse does', () => {
      fc.assert(
        fc.property(
          fc.array(fc.constantFrom(...'[]{},:"\\ 1a-.eE0tu\n\u0001\ufeff/'), { maxLength: 12 }),
          (letters) => {
            const text = letters.join('');
            for (const value of [text, `[${text}]`, `{"a":${text}}`, `"${text}"`]) {
              expect([value, jsonFault(value) === undefined]).toEqual([value, isJson(value)]);
            }
          },
        ),
        { numRuns: 2_000 },
      );
      fc.assert(fc.property(fc.json({ maxDepth: 8 }), (text) => expect(jsonFault(text)).toBeUndefined()));
    });

    it('finds the fault in a text of ten megabytes and a thousand levels', () => {
      expect(jsonFault(`["${'x\\n'.repeat(5_000_000)}",]`)).toContain('a comma before the end of the array');
      expect(jsonFault('['.repeat(1_000))).toContain('more than 100 levels');
    });
  });

  describe('jsonReader', () => {
    it('reports the place if the text is not JSON, and otherwise what the reader finds', () => {
      const read = jsonReader((text) => (text === '[]' ? success(1) : failure(['must be empty'])));
      expect([read('[]'), read('[1]'), read('[1')]).toEqual([
        success(1),
        failure(['must be empty']),
        failure(['is not JSON: line 1, column 3: the text ends too early']),
      ]);
    });
  });
});
