import { describe, expect, it } from '@jest/globals';
import { parseCommandLine } from './command-line.ts';

describe('the command line of the benchmark', () => {
  it('compares without a command', () => {
    expect(parseCommandLine([])).toEqual({ name: 'comparison', options: { seconds: 5, rounds: 5, write: false } });
    expect(parseCommandLine(['--write', '--rounds', '2'])).toMatchObject({ options: { rounds: 2, write: true } });
  });

  it('attacks', () => {
    expect(parseCommandLine(['attack', '--repository', 'postgres', '--lorises=0'])).toEqual({
      name: 'attack',
      options: { seconds: 30, rate: 100, lorises: 0, repositories: ['postgres'] },
    });
    expect(parseCommandLine(['attack'])).toMatchObject({ options: { repositories: ['memory', 'postgres'] } });
  });

  it('grows', () => {
    expect(parseCommandLine(['growth', '--registrations', '10,2000'])).toEqual({
      name: 'growth',
      options: { seconds: 5, rounds: 3, registrations: [10, 2_000] },
    });
  });

  it('soaks', () => {
    expect(parseCommandLine(['soak', '--minutes', '0.5'])).toEqual({
      name: 'soak',
      options: { minutes: 0.5, warmUpSeconds: 60, sampleEverySeconds: 10 },
    });
  });

  it.each([
    ['an unknown command', ['race']],
    ['an unknown option', ['--second', '5']],
    ['a word too many', ['attack', 'now']],
    ['no number', ['--seconds', 'five']],
    ['no whole number', ['growth', '--rounds', '1.5']],
    ['nothing to do', ['--rounds', '0']],
    ['an unknown repository', ['attack', '--repository', 'files']],
    ['no time', ['soak', '--minutes', '0']],
  ])('refuses %s', (_, args) => {
    expect(() => parseCommandLine(args)).toThrow();
  });
});
