import { parseArgs } from 'node:util';
import type { AttackOptions, Repository } from './attack/attack-command.ts';
import type { ComparisonOptions } from './comparison/comparison-command.ts';
import type { GrowthOptions } from './growth/growth-command.ts';
import type { ProfileOptions } from './profile/profile-command.ts';
import type { SoakOptions } from './soak/soak-command.ts';

export type Command =
  | { readonly name: 'comparison'; readonly options: ComparisonOptions }
  | { readonly name: 'attack'; readonly options: AttackOptions }
  | { readonly name: 'growth'; readonly options: GrowthOptions }
  | { readonly name: 'profile'; readonly options: ProfileOptions }
  | { readonly name: 'soak'; readonly options: SoakOptions };

export const USAGE = `Usage: npm run bench [-- COMMAND] [OPTIONS]

  (none)   this service beside others     --seconds 5 --rounds 5
                                          --write   writes docs/benchmark.md and docs/benchmark.svg too
  attack   good clients beside attackers  --seconds 30 --rate 100 --lorises 200 --repository memory|postgres|both
  growth   registrations and connections  --seconds 5 --rounds 3 --registrations 10,1000,100000,1000000
  profile  where the time of a token goes --seconds 10
                                          --folder PATH   keeps the profiles there, for a flame graph
  soak     memory under steady load       --minutes 10 --warm-up-seconds 60 --every-seconds 10
`;

type Values = Readonly<Record<string, string | boolean>>;

/** Reads the command and its options. Throws, with a message for people, where they are none. */
export function parseCommandLine(args: readonly string[]): Command {
  const [first = ''] = args;
  if (first === '' || first.startsWith('-')) {
    const values = read(args, { seconds: '5', rounds: '5', write: false });
    const options = {
      seconds: whole(values, 'seconds'),
      rounds: whole(values, 'rounds'),
      write: values['write'] === true,
    };
    return { name: 'comparison', options };
  }
  const rest = args.slice(1);
  switch (first) {
    case 'attack': {
      const values = read(rest, { seconds: '30', rate: '100', lorises: '200', repository: 'both' });
      const [seconds, rate] = [whole(values, 'seconds'), whole(values, 'rate')];
      const options = { seconds, rate, lorises: whole(values, 'lorises', 0), repositories: repositories(values) };
      return { name: 'attack', options };
    }
    case 'growth': {
      const values = read(rest, { seconds: '5', rounds: '3', registrations: '10,1000,100000,1000000' });
      const registrations = String(values['registrations'])
        .split(',')
        .map((text) => number(text, 'registrations'));
      return {
        name: 'growth',
        options: { seconds: whole(values, 'seconds'), rounds: whole(values, 'rounds'), registrations },
      };
    }
    case 'profile': {
      const values = read(rest, { seconds: '10', folder: '' });
      const folder = String(values['folder']) || undefined;
      return { name: 'profile', options: { seconds: whole(values, 'seconds'), folder } };
    }
    case 'soak': {
      const values = read(rest, { minutes: '10', 'warm-up-seconds': '60', 'every-seconds': '10' });
      const minutes = Number(values['minutes']);
      if (!(minutes > 0)) throw new Error('--minutes must be a number above 0');
      const [warmUpSeconds, sampleEverySeconds] = [whole(values, 'warm-up-seconds'), whole(values, 'every-seconds')];
      return { name: 'soak', options: { minutes, warmUpSeconds, sampleEverySeconds } };
    }
    default:
      throw new Error(`there is no command ${first}`);
  }
}

/** The options given, over their defaults. */
function read(args: readonly string[], defaults: Values): Values {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: typeof value === 'boolean' ? 'boolean' : 'string', default: value } as const,
    ]),
  );
  return parseArgs({ args: [...args], options }).values as Values;
}

function whole(values: Values, name: string, least = 1): number {
  return number(String(values[name]), name, least);
}

function number(text: string, name: string, least = 1): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least)
    throw new Error(`--${name} must be a whole number from ${least}`);
  return Number(text);
}

function repositories(values: Values): readonly Repository[] {
  const { repository } = values;
  if (repository === 'both') return ['memory', 'postgres'];
  if (repository === 'memory' || repository === 'postgres') return [repository];
  throw new Error('--repository must be memory, postgres or both');
}
