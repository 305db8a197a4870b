import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { followDatabaseUrl } from '../../../config/settings/database-url.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { databaseUrlOf } from '../../../config/settings/program-database.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { problemsIn } from '../../support/problems.ts';

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

describe('loadConfiguration', () => {
  it('reads the clients of the file that CLIENTS_FILE names', () => {
    const asked: string[] = [];
    const configuration = loadConfiguration(MEMORY, (path) => {
      asked.push(path);
      return success('[]');
    });
    expect(asked).toEqual(['clients.json']);
    expect(configuration).toMatchObject({ ok: true, value: { clients: [] } });
  });

  it('reports that the file cannot be read', () => {
    expect(problemsIn(loadConfiguration(MEMORY, () => failure('cannot be read')))).toEqual([
      'CLIENTS_FILE: cannot be read',
    ]);
  });

  it('reports the problems of the settings and of the file together', () => {
    expect(problemsIn(loadConfiguration({ ...MEMORY, PORT: 'x' }, () => success('{}')))).toEqual([
      'PORT: must be a whole number from 0 to 65535',
      'CLIENTS_FILE: must be a JSON array',
    ]);
  });

  describe('with DATABASE_URL_FILE', () => {
    const FROM_FILE = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL_FILE: '/run/secrets/url' };
    const URL = 'postgresql://service:its-password@db.test/auth';

    it.each(['', '\n', '\r\n'])('reads the URL of that file, which may end in %j', (end) => {
      const configuration = loadConfiguration(FROM_FILE, (path) =>
        success(`${URL}${path === '/run/secrets/url' ? end : 'x'}`),
      );
      if (!configuration.ok) throw new Error(problemsIn(configuration).join());
      expect(configuration.value.settings.DATABASE_URL?.reveal()).toBe(URL);
      expect(inspect(configuration.value, { depth: 9, showHidden: true })).not.toContain('its-password');
    });

    it.each([
      ['does not exist', undefined, 'cannot be read'],
      [
        'is empty',
        '',
        'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
      ],
      [
        'contains something else',
        'mysql://service:its-password@db.test',
        'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
      ],
      [
        'has two lines',
        `${URL}\nits-password`,
        'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
      ],
    ])('names the setting and never the value if the file %s', (_name, text, problem) => {
      const read = () => (text === undefined ? failure('cannot be read') : success(text));
      expect(problemsIn(loadConfiguration(FROM_FILE, read))).toEqual([`DATABASE_URL_FILE: ${problem}`]);
    });
  });

  describe('with variables of libpq, which the driver reads too', () => {
    const read = (path: string) => (path === '/run/secrets/url' ? success(PLAIN) : failure('cannot be read'));
    const PLAIN = 'postgresql://service:its-password@db.test/auth';

    it.each([
      ['PGPORT', '6543', ':6543/auth'],
      ['PGOPTIONS', '-c search_path=other', '/auth?options=-c%20search_path%3Dother'],
      ['PGCLIENT_ENCODING', 'LATIN1', '/auth?client_encoding=UTF8'],
    ])('refuses %s, which would lead elsewhere, unless the URL says it', (variable, value, named) => {
      for (const [setting, url] of [
        ['DATABASE_URL', PLAIN],
        ['DATABASE_URL_FILE', '/run/secrets/url'],
      ] as const) {
        const environment = { CLIENT_REPOSITORY: 'postgres', [setting]: url, [variable]: value };
        const problem = `${variable}: would change what ${setting} means: write it there, or unset it`;
        expect(problemsIn(loadConfiguration(environment, read))).toEqual([problem]);
        expect(databaseUrlOf(environment, read)).toEqual({ ok: false, problem: `${problem}.` });
      }
      const complete = PLAIN.replace('/auth', named);
      const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: complete, [variable]: value, PGHOST: 'other' };
      expect(loadConfiguration(environment, read).ok).toBe(true);
    });

    it('accepts PGPORT with the port that the URL means without one', () => {
      const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: PLAIN, PGPORT: '5432' };
      expect(loadConfiguration(environment, read).ok).toBe(true);
      expect(databaseUrlOf(environment, read).ok).toBe(true);
    });
  });

  describe('with files that DATABASE_URL names', () => {
    const URL = 'postgresql://service:its-password@db.test/auth?sslmode=verify-full&sslrootcert=/etc/absent.pem';
    const read = (path: string) =>
      path === '/run/secrets/url' ? success(URL) : failure(`cannot be read: there is no file ${path} (ENOENT)`);

    it.each([
      ['DATABASE_URL', URL],
      ['DATABASE_URL_FILE', '/run/secrets/url'],
    ])('says which of them cannot be read, by %s, and shows no password', (setting, value) => {
      const environment = { CLIENT_REPOSITORY: 'postgres', [setting]: value };
      const problem = `${setting}: the file of sslrootcert cannot be read: there is no file /etc/absent.pem (ENOENT)`;
      expect(problemsIn(loadConfiguration(environment, read))).toEqual([problem]);
      expect(databaseUrlOf(environment, read)).toEqual({ ok: false, problem: `${problem}.` });
    });

    it('reads all of them', () => {
      const asked: string[] = [];
      const url = `${URL}&sslcert=a.pem&sslcert=b.pem&sslkey=`;
      const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url };
      const configuration = loadConfiguration(environment, (path) => {
        asked.push(path);
        return success('');
      });
      expect(configuration.ok).toBe(true);
      // The driver takes the last one of a name, and none for an empty text.
      expect(asked).toEqual(['/etc/absent.pem', 'b.pem']);
    });
  });

  describe('with MANAGEMENT_TOKEN_FILE', () => {
    const FROM_FILE = { ...MEMORY, MANAGEMENT_TOKEN_FILE: '/run/secrets/token' };
    const read = (text: string | undefined) =>
      loadConfiguration(FROM_FILE, (path) => {
        if (path !== '/run/secrets/token') return success('[]');
        return text === undefined ? failure('cannot be read') : success(text);
      });

    it.each(['', '\n', '\r\n'])('reads the token of that file, which may end in %j, and never shows it', (end) => {
      const configuration = read(`an-operator-token-of-32-characters${end}`);
      if (!configuration.ok) throw new Error(problemsIn(configuration).join());
      expect(configuration.value.managementToken?.reveal()).toBe('an-operator-token-of-32-characters');
      expect(inspect(configuration.value, { depth: 9, showHidden: true })).not.toContain(
        'an-operator-token-of-32-characters',
      );
    });

    it.each([
      ['does not exist', undefined, 'cannot be read'],
      [
        'has two lines',
        'an-operator-token-of-32-characters\nx',
        'must contain one line of 32 to 1024 letters, digits and -._~+/=: openssl rand -base64 32 makes one',
      ],
    ])('names the setting and never the value if the file %s', (_name, text, problem) => {
      expect(problemsIn(read(text))).toEqual([`MANAGEMENT_TOKEN_FILE: ${problem}`]);
    });
  });
});

describe('followDatabaseUrl', () => {
  const FIRST = 'postgresql://service:its-password@db.test/auth?sslmode=verify-full';
  const follow = () => {
    const file = { text: success(FIRST) as Result<string, string> };
    const problems: string[] = [];
    return {
      url: followDatabaseUrl(
        '/run/secrets/url',
        FIRST,
        () => file.text,
        (problem) => problems.push(problem),
      ),
      problems,
      write: (text: string) => (file.text = success(text)),
      remove: () => (file.text = failure('cannot be read')),
    };
  };

  it('has the role and the password that the file has now', () => {
    const { url, problems, write } = follow();
    expect(url()).toBe(FIRST);
    const next = 'postgresql://service_2:another@db.test/auth?sslmode=verify-full';
    write(`${next}\n`);
    expect(url()).toBe(next);
    expect(problems).toEqual([]);
  });

  it.each([
    ['is empty', ''],
    ['is cut', 'postgresql://service:ano'],
    ['has no password', 'postgresql://service@db.test/auth?sslmode=verify-full'],
    ['names another host', 'postgresql://service:another@elsewhere.test/auth?sslmode=verify-full'],
    ['names another database', 'postgresql://service:another@db.test/other?sslmode=verify-full'],
    ['does not verify the server', 'postgresql://service:another@db.test/auth'],
  ])('keeps the last URL while the file %s, and says so once', (_what, text) => {
    const { url, problems, write } = follow();
    const last = FIRST.replace('its-password', 'another');
    write(last);
    url();
    write(text);
    expect([url(), url()]).toEqual([last, last]);
    expect(problems).toEqual([expect.stringMatching(/^DATABASE_URL_FILE: (must contain one line|differs in more)/)]);
    expect(problems.join()).not.toMatch(/another|service/);
  });

  it('reports a file that is missing again after it was there', () => {
    const { url, problems, write, remove } = follow();
    for (const _ of [1, 2]) {
      remove();
      expect(url()).toBe(FIRST);
      write(FIRST);
      url();
    }
    expect(problems).toEqual(['DATABASE_URL_FILE: cannot be read.', 'DATABASE_URL_FILE: cannot be read.']);
  });
});
