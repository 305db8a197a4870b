import { parseArgs } from 'node:util';

const REPOSITORIES = ['memory', 'postgres'] as const;
export type Repository = (typeof REPOSITORIES)[number];

const STORAGES = ['memory', 'sqlite', 'postgres'] as const;
export type Storage = (typeof STORAGES)[number];

/** The ways in which a token request with wrong credentials is refused. */
export const PATHS = ['401', '401-assertion', '400-grant', '429', '503-full', '503-late'] as const;
export type PathName = (typeof PATHS)[number];

const MACHINES = ['quiet', 'busy'] as const;
export type Machine = (typeof MACHINES)[number];

/** How the clients of a comparison authenticate. */
const METHODS = ['client_secret', 'private_key_jwt'] as const;

/** `mixed`: many kinds of requests at once. `strong`: one aim at a time. `memory`: as much memory as possible. */
const ATTACK_PARTS = ['mixed', 'strong', 'memory'] as const;

/** The storages, hashes of cost 10, a new TLS connection for each token, and other servers. */
const FLEET_PARTS = ['storages', 'expensive', 'tls', 'peers'] as const;

/**
 * The options of each command with their defaults: a whole number, several of them, choices of which all are taken, a
 * folder or a flag.
 */
const COMMANDS = {
  comparison: { seconds: 5, rounds: 5, folder: '' },
  compare: { base: 'FOLDER', pairs: 9, seconds: 8, repository: REPOSITORIES, method: METHODS },
  attack: { part: ATTACK_PARTS, repository: REPOSITORIES, seconds: 30, rate: 100, lorises: 200 },
  burst: { rounds: 9, connections: [256, 2_048] as readonly number[] },
  fleet: { part: FLEET_PARTS, clients: 10_000, connections: 64, lifetime: 30 },
  growth: { seconds: 5, rounds: 3, registrations: [10, 1_000, 100_000, 1_000_000] as readonly number[] },
  identify: { storage: STORAGES, kinds: [5, 1, 2] as readonly number[], n: 100, plant: 0 },
  profile: { seconds: 10, folder: '' },
  soak: { minutes: 10, 'warm-up-seconds': 60, 'every-seconds': 10 },
  timing: {
    ...{ path: PATHS, repository: REPOSITORIES, machine: MACHINES },
    ...{ n: 2_500, runs: 3, cost: 6, plant: 30, rows: false },
  },
} as const;

type Default = number | string | boolean | readonly (number | string)[];

/** Options that may be 0: no slow header senders, no planted difference. */
const MAY_BE_ZERO = ['lorises', 'plant'];

/** Choices of which one is taken by default. */
const USUAL: Readonly<Record<string, string>> = { machine: 'quiet', method: 'client_secret' };

const USAGE = `Usage: npm run bench [-- COMMAND] [OPTIONS]

  (none)   this service next to others; --folder gets a chart, throughput.svg
  compare  this checkout against another one, with its packages installed
  attack   clients, and the memory of the service, during attacks
  burst    first requests at once
  fleet    many clients that ask now and then: after a start, again, and over lifetimes
  growth   registrations and connections
  identify whether the times of refusals tell which of 400 ids are registered; --kinds 1 has one client, --plant is in µs
  profile  CPU time of a token by part; --folder keeps the profiles, which DevTools opens
  soak     memory under steady load
  timing   whether refusals tell by time which clients exist; --plant is in µs, --rows adds locked and broken rows
`;

export type CommandName = keyof typeof COMMANDS;

type Widened<Value> = Value extends number
  ? number
  : Value extends string
    ? string
    : Value extends boolean
      ? boolean
      : Value;

/** What a command is given. */
export type Options<Name extends CommandName> = {
  readonly [Key in keyof (typeof COMMANDS)[Name]]: Widened<(typeof COMMANDS)[Name][Key]>;
};

export type Command = { [Name in CommandName]: { readonly name: Name; readonly options: Options<Name> } }[CommandName];

/**
 * The command and its options; without a command it is the comparison. Throws an error whose message is meant for the
 * user.
 */
export function parseCommandLine(args: readonly string[]): Command {
  const [first = ''] = args;
  const isNamed = first !== '' && !first.startsWith('-');
  const name = isNamed ? first : 'comparison';
  if (!Object.hasOwn(COMMANDS, name)) throw new Error(`unknown command: ${name}`);
  const defaults: [string, Default][] = Object.entries(COMMANDS[name as CommandName]);
  const { values } = parseArgs({
    args: args.slice(isNamed ? 1 : 0),
    options: Object.fromEntries(
      defaults.map(([key, value]) => [key, { type: typeof value === 'boolean' ? 'boolean' : 'string' }]),
    ),
  });
  const options = defaults.map(([key, value]) => [key, read(key, value, values[key] ?? USUAL[key])]);
  return { name, options: Object.fromEntries(options) } as Command;
}

function read(key: string, value: Default, given: string | boolean | undefined): unknown {
  if (given === undefined && value !== 'FOLDER') return value;
  const text = String(given ?? '');
  if (typeof value === 'boolean') return given;
  if (typeof value === 'number') return wholeNumber(key, text);
  if (typeof value === 'string') {
    if (text === '') throw new Error(`--${key} must be a folder`);
    return text;
  }
  if (value.every((one) => typeof one === 'number')) return text.split(',').map((one) => wholeNumber(key, one));
  const chosen = value.filter((one) => ['all', 'both', one].includes(text));
  if (chosen.length === 0) throw new Error(`--${key} must be ${value.join(', ')} or all`);
  return chosen;
}

function wholeNumber(key: string, text: string): number {
  const least = MAY_BE_ZERO.includes(key) ? 0 : 1;
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`--${key} must be a whole number of at least ${least}`);
}

/** All commands with their options and what these are by default. */
export function usage(): string {
  const forms = Object.entries(COMMANDS).map(([name, options]) => {
    const each = Object.entries<Default>(options).map(([key, value]) => {
      if (typeof value === 'boolean') return `--${key}`;
      if (typeof value !== 'object') return `--${key} ${value || 'FOLDER'}`;
      return `--${key} ${typeof value[0] === 'number' ? value.join(',') : [...value, 'all'].join('|')}`;
    });
    return `  ${name === 'comparison' ? '(none)' : name}: ${each.join(' ')}`;
  });
  return `${USAGE}\n${forms.join('\n')}`;
}
