import { describe, expect, it } from '@jest/globals';
import { parseCommandLine, usage } from './command-line.ts';

const BOTH = ['memory', 'postgres'];

describe('the command line of the benchmark', () => {
  it.each([
    [[], 'comparison', { seconds: 5, rounds: 5, folder: '' }],
    [['--rounds', '2'], 'comparison', { seconds: 5, rounds: 2, folder: '' }],
    [
      ['compare', '--base=../x', '--repository', 'memory'],
      'compare',
      { base: '../x', pairs: 9, seconds: 8, repository: ['memory'] },
    ],
    [
      ['attack', '--repository', 'postgres', '--lorises=0'],
      'attack',
      { part: ['mixed', 'strong', 'memory'], repository: ['postgres'], seconds: 30, rate: 100, lorises: 0 },
    ],
    [['burst', '--connections', '16,256'], 'burst', { rounds: 9, connections: [16, 256] }],
    [['growth', '--registrations', '10'], 'growth', { seconds: 5, rounds: 3, registrations: [10] }],
    [['profile'], 'profile', { seconds: 10, folder: '' }],
    [['soak', '--minutes', '1'], 'soak', { minutes: 1, 'warm-up-seconds': 60, 'every-seconds': 10 }],
    [
      ['timing', '--path', '401', '--machine', 'both', '--plant=0', '--rows'],
      'timing',
      {
        ...{ path: ['401'], repository: BOTH, machine: ['quiet', 'busy'], workers: 1, n: 2_500, runs: 3, cost: 6 },
        ...{ plant: 0, rows: true },
      },
    ],
    [
      ['timing'],
      'timing',
      {
        ...{ path: ['401', '401-assertion', '429-tested', '429-untested', '503-full', '503-late'], repository: BOTH },
        ...{ machine: ['quiet'], workers: 1, n: 2_500, runs: 3, cost: 6, plant: 30, rows: false },
      },
    ],
  ])('reads %j', (args, name, options) => {
    expect(parseCommandLine(args)).toEqual({ name, options });
  });

  it.each([
    ['an unknown command', ['race'], 'unknown command: race'],
    ['a command that every object has', ['toString'], 'unknown command: toString'],
    ['an unknown option', ['--second', '5'], "Unknown option '--second'"],
    ['an extra argument', ['attack', 'now'], "Unexpected argument 'now'"],
    ['a value of a flag', ['timing', '--rows=1'], 'does not take an argument'],
    ['compare without another checkout', ['compare'], '--base must be a folder'],
    [
      'an unknown repository',
      ['compare', '--base', 'x', '--repository', 'files'],
      '--repository must be memory, postgres or all',
    ],
    ['two parts', ['attack', '--part', 'all,memory'], '--part must be mixed, strong, memory or all'],
    ['an unknown path', ['timing', '--path', '500'], '--path must be 401, '],
    ['a word instead of a number', ['--seconds', 'five'], '--seconds must be a whole number of at least 1'],
    ['a fraction', ['growth', '--rounds', '1.5'], '--rounds must be a whole number of at least 1'],
    ['zero rounds', ['--rounds', '0'], '--rounds must be a whole number of at least 1'],
    ['no connections', ['burst', '--connections', ''], '--connections must be a whole number of at least 1'],
    ['zero minutes', ['soak', '--minutes', '0'], '--minutes must be a whole number of at least 1'],
  ])('refuses %s', (_, args, message) => {
    expect(() => parseCommandLine(args)).toThrow(message);
  });

  it('lists every command with its options', () => {
    expect(usage()).toMatch(/^ {2}compare {2}this checkout /m);
    expect(usage()).toMatch(/^ {2}compare: --base FOLDER --pairs 9 --seconds 8 --repository memory\|postgres\|all$/m);
  });
});
