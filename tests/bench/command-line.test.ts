import { describe, expect, it } from '@jest/globals';
import { parseCommandLine } from './command-line.ts';

describe('the command line of the benchmark', () => {
  it('runs the comparison with other servers if there is no command', () => {
    expect(parseCommandLine([])).toEqual({ name: 'comparison', options: { seconds: 5, rounds: 5, write: false } });
    expect(parseCommandLine(['--write', '--rounds', '2'])).toMatchObject({ options: { rounds: 2, write: true } });
  });

  it('reads compare', () => {
    expect(parseCommandLine(['compare', '--base', '../other', '--pairs', '1', '--store', 'memory'])).toEqual({
      name: 'compare',
      options: { base: '../other', pairs: 1, seconds: 8, stores: ['memory'] },
    });
    const defaults = { pairs: 9, seconds: 8, stores: ['memory', 'postgres'] };
    expect(parseCommandLine(['compare', '--base=x'])).toMatchObject({ options: defaults });
  });

  it('reads attack', () => {
    expect(parseCommandLine(['attack', '--repository', 'postgres', '--lorises=0'])).toEqual({
      name: 'attack',
      options: {
        seconds: 30,
        rate: 100,
        lorises: 0,
        stores: ['postgres'],
        parts: ['mixed', 'timeline', 'strong', 'memory'],
        write: false,
      },
    });
    expect(parseCommandLine(['attack'])).toMatchObject({ options: { stores: ['memory', 'postgres'] } });
    expect(parseCommandLine(['attack', '--part', 'memory'])).toMatchObject({ options: { parts: ['memory'] } });
    expect(parseCommandLine(['attack', '--part=timeline', '--write'])).toMatchObject({ options: { write: true } });
  });

  it('reads burst', () => {
    expect(parseCommandLine(['burst', '--rounds', '3', '--connections', '16,256'])).toEqual({
      name: 'burst',
      options: { rounds: 3, connections: [16, 256] },
    });
    expect(parseCommandLine(['burst'])).toMatchObject({ options: { rounds: 9, connections: [256, 2_048] } });
  });

  it('reads growth', () => {
    expect(parseCommandLine(['growth', '--registrations', '10,2000'])).toEqual({
      name: 'growth',
      options: { seconds: 5, rounds: 3, registrations: [10, 2_000] },
    });
  });

  it('reads soak', () => {
    expect(parseCommandLine(['soak', '--minutes', '0.5'])).toEqual({
      name: 'soak',
      options: { minutes: 0.5, warmUpSeconds: 60, sampleEverySeconds: 10, write: false },
    });
  });

  it('reads profile', () => {
    expect(parseCommandLine(['profile', '--write'])).toEqual({
      name: 'profile',
      options: { seconds: 10, folder: undefined, write: true },
    });
  });

  it('reads timing', () => {
    const args = ['timing', '--path', '401', '--repository', 'memory', '--machine', 'both', '--plant=0', '--rows'];
    expect(parseCommandLine(args)).toEqual({
      name: 'timing',
      options: {
        paths: ['401'],
        stores: ['memory'],
        machines: ['quiet', 'busy'],
        workers: 1,
        count: 2_500,
        runs: 3,
        cost: 6,
        plant: 0,
        rows: true,
      },
    });
    const defaults = {
      paths: ['401', '401-assertion', '429-tested', '429-untested', '503-full', '503-late'],
      machines: ['quiet'],
      plant: 30,
      rows: false,
    };
    expect(parseCommandLine(['timing'])).toMatchObject({ options: defaults });
  });

  it.each([
    ['an unknown command', ['race']],
    ['an unknown option', ['--second', '5']],
    ['compare without another checkout', ['compare']],
    ['an unknown store', ['compare', '--base', 'x', '--store', 'files']],
    ['an extra argument', ['attack', 'now']],
    ['a word instead of a number', ['--seconds', 'five']],
    ['a fraction', ['growth', '--rounds', '1.5']],
    ['zero rounds', ['--rounds', '0']],
    ['no connections', ['burst', '--connections', '']],
    ['an unknown part', ['attack', '--part', 'all,memory']],
    ['an unknown repository', ['attack', '--repository', 'files']],
    ['a picture of a timeline that is not measured', ['attack', '--part', 'mixed', '--write']],
    ['zero minutes', ['soak', '--minutes', '0']],
    ['an unknown path', ['timing', '--path', '500']],
    ['a cost that BCrypt does not have', ['timing', '--cost', '3']],
  ])('refuses %s', (_, args) => {
    expect(() => parseCommandLine(args)).toThrow();
  });
});
