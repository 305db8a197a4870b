import { parseArgs } from 'node:util';
import type { AttackOptions, AttackPart } from './attack/attack.ts';
import type { BurstOptions } from './burst/burst.ts';
import type { Store } from './candidates.ts';
import type { CheckoutOptions } from './checkout-pairs.ts';
import type { ComparisonOptions } from './comparison-report.ts';
import type { GrowthOptions } from './growth.ts';
import type { ProfileOptions } from './profile.ts';
import type { SoakOptions } from './soak.ts';
import { PATHS, type PathName } from './timing/refusal-paths.ts';
import type { Machine, TimingOptions } from './timing/timing.ts';

export type Command =
  | { readonly name: 'comparison'; readonly options: ComparisonOptions }
  | { readonly name: 'compare'; readonly options: CheckoutOptions }
  | { readonly name: 'attack'; readonly options: AttackOptions }
  | { readonly name: 'burst'; readonly options: BurstOptions }
  | { readonly name: 'growth'; readonly options: GrowthOptions }
  | { readonly name: 'profile'; readonly options: ProfileOptions }
  | { readonly name: 'soak'; readonly options: SoakOptions }
  | { readonly name: 'timing'; readonly options: TimingOptions };

export const USAGE = `Usage: npm run bench [-- COMMAND] [OPTIONS]

  (none)   this service next to others    --seconds 5 --rounds 5
                                          --write   also writes docs/benchmark.md and docs/benchmark.svg
  compare  this checkout against another  --base FOLDER   the other checkout, with its packages installed
                                          --pairs 9 --seconds 8 --store memory|postgres|both
  attack   clients during attacks         --part mixed|timeline|strong|memory|all
                                          --seconds 30 --rate 100 --lorises 200 --repository memory|postgres|both
                                          --write   also draws docs/images/flood.svg from the timeline of the first repository
  burst    first requests at once         --rounds 9 --connections 256,2048
  growth   registrations and connections  --seconds 5 --rounds 3 --registrations 10,1000,100000,1000000
  profile  CPU time of a token by part    --seconds 10
                                          --folder PATH   keeps the profiles there
                                          --write   also draws docs/images/flame-graph.svg
  soak     memory under steady load       --minutes 10 --warm-up-seconds 60 --every-seconds 10
                                          --write   also draws docs/images/soak.svg
  timing   whether refusals tell by time  --path ${PATHS.join('|')}|all --repository memory|postgres|both
           which clients exist            --machine quiet|busy|both --workers 1 --n 2500 --runs 3 --cost 6
                                          --plant 30   microseconds that have to be found; 0 for none
                                          --rows       also locked and broken rows of a table
`;

type Values = Readonly<Record<string, string | boolean>>;

/** Reads the command and its options. Throws an error whose message is meant for the user. */
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
    case 'compare': {
      const values = read(rest, { base: '', pairs: '9', seconds: '8', store: 'both' });
      const base = String(values['base']);
      if (base === '') throw new Error('--base is required: the folder of another checkout');
      const [pairs, seconds] = [whole(values, 'pairs'), whole(values, 'seconds')];
      return { name: 'compare', options: { base, pairs, seconds, stores: stores(values, 'store') } };
    }
    case 'attack':
      return { name: 'attack', options: attackOptions(rest) };
    case 'burst': {
      const values = read(rest, { rounds: '9', connections: '256,2048' });
      return {
        name: 'burst',
        options: { rounds: whole(values, 'rounds'), connections: wholes(values, 'connections') },
      };
    }
    case 'growth': {
      const values = read(rest, { seconds: '5', rounds: '3', registrations: '10,1000,100000,1000000' });
      const [seconds, rounds] = [whole(values, 'seconds'), whole(values, 'rounds')];
      return { name: 'growth', options: { seconds, rounds, registrations: wholes(values, 'registrations') } };
    }
    case 'profile': {
      const values = read(rest, { seconds: '10', folder: '', write: false });
      const folder = String(values['folder']) || undefined;
      const write = values['write'] === true;
      return { name: 'profile', options: { seconds: whole(values, 'seconds'), folder, write } };
    }
    case 'soak': {
      const values = read(rest, { minutes: '10', 'warm-up-seconds': '60', 'every-seconds': '10', write: false });
      const minutes = Number(values['minutes']);
      if (!(minutes > 0)) throw new Error('--minutes must be a number greater than 0');
      const [warmUpSeconds, sampleEverySeconds] = [whole(values, 'warm-up-seconds'), whole(values, 'every-seconds')];
      return { name: 'soak', options: { minutes, warmUpSeconds, sampleEverySeconds, write: values['write'] === true } };
    }
    case 'timing':
      return { name: 'timing', options: timingOptions(rest) };
    default:
      throw new Error(`unknown command: ${first}`);
  }
}

function attackOptions(args: readonly string[]): AttackOptions {
  const counts = { seconds: '30', rate: '100', lorises: '200' };
  const values = read(args, { ...counts, repository: 'both', part: 'all', write: false });
  const parts = oneOrAll<AttackPart>(values, 'part', ['mixed', 'timeline', 'strong', 'memory'], 'all');
  const write = values['write'] === true;
  if (write && !parts.includes('timeline')) throw new Error('--write needs --part timeline or all');
  const [seconds, rate, lorises] = [whole(values, 'seconds'), whole(values, 'rate'), whole(values, 'lorises', 0)];
  return { seconds, rate, lorises, stores: stores(values, 'repository'), parts, write };
}

function timingOptions(args: readonly string[]): TimingOptions {
  const counts = { workers: '1', n: '2500', runs: '3', cost: '6', plant: '30' };
  const values = read(args, { path: 'all', repository: 'both', machine: 'quiet', ...counts, rows: false });
  return {
    paths: oneOrAll<PathName>(values, 'path', PATHS, 'all'),
    stores: stores(values, 'repository'),
    machines: oneOrAll<Machine>(values, 'machine', ['quiet', 'busy'], 'both'),
    workers: whole(values, 'workers'),
    count: whole(values, 'n'),
    runs: whole(values, 'runs'),
    cost: whole(values, 'cost', 4),
    plant: whole(values, 'plant', 0),
    rows: values['rows'] === true,
  };
}

/** The given options, with defaults for the others. */
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

/** Numbers with commas between them. */
function wholes(values: Values, name: string): readonly number[] {
  return String(values[name])
    .split(',')
    .map((text) => number(text, name));
}

function number(text: string, name: string, least = 1): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least)
    throw new Error(`--${name} must be a whole number of at least ${least}`);
  return Number(text);
}

function stores(values: Values, name: string): readonly Store[] {
  return oneOrAll<Store>(values, name, ['memory', 'postgres'], 'both');
}

function oneOrAll<Choice extends string>(
  values: Values,
  name: string,
  choices: readonly Choice[],
  all: string,
): readonly Choice[] {
  if (values[name] === all) return choices;
  const chosen = choices.filter((choice) => choice === values[name]);
  if (chosen.length === 0) throw new Error(`--${name} must be ${choices.join(', ')} or ${all}`);
  return chosen;
}
