import { parseArgs } from 'node:util';

export const STORES = ['memory', 'postgres'] as const;
export type Store = (typeof STORES)[number];

/** The ways in which a token request with wrong credentials is refused. */
export const PATHS = ['401', '401-assertion', '429-tested', '429-untested', '503-full', '503-late'] as const;
export type PathName = (typeof PATHS)[number];

const MACHINES = ['quiet', 'busy'] as const;
export type Machine = (typeof MACHINES)[number];

/** `mixed`: many kinds of requests at once. `strong`: one aim at a time. `memory`: as much memory as possible. */
const ATTACK_PARTS = ['mixed', 'strong', 'memory'] as const;

interface Option<Value> {
  /** What is read if the option is not given; true and false are flags without a value. */
  readonly usual: string | boolean;
  /** The values, for the help. */
  readonly form: string;
  read(given: string | boolean): Value;
}

const COMMANDS = {
  comparison: { about: 'this service next to others', options: { seconds: whole(5), rounds: whole(5) } },
  compare: {
    about: 'this checkout against another one, with its packages installed',
    options: { base: folder(true), pairs: whole(9), seconds: whole(8), store: choice(STORES, 'both') },
  },
  attack: {
    about: 'clients, and the memory of the service, during attacks',
    options: {
      part: choice(ATTACK_PARTS, 'all'),
      repository: choice(STORES, 'both'),
      seconds: whole(30),
      rate: whole(100),
      lorises: whole(200, 0),
    },
  },
  burst: { about: 'first requests at once', options: { rounds: whole(9), connections: wholes('256,2048') } },
  growth: {
    about: 'registrations and connections',
    options: { seconds: whole(5), rounds: whole(3), registrations: wholes('10,1000,100000,1000000') },
  },
  profile: {
    about: 'CPU time of a token by part; --folder keeps the profiles, which DevTools opens',
    options: { seconds: whole(10), folder: folder(false) },
  },
  soak: {
    about: 'memory under steady load',
    options: { minutes: minutes('10'), 'warm-up-seconds': whole(60), 'every-seconds': whole(10) },
  },
  timing: {
    about: 'whether refusals tell by time which clients exist; --plant is in µs, --rows adds locked and broken rows',
    options: {
      path: choice(PATHS, 'all'),
      repository: choice(STORES, 'both'),
      machine: choice(MACHINES, 'both', 'quiet'),
      workers: whole(1),
      n: whole(2_500),
      runs: whole(3),
      cost: whole(6, 4),
      plant: whole(30, 0),
      rows: flag(),
    },
  },
} as const;

export type CommandName = keyof typeof COMMANDS;

/** What a command is given. */
export type Options<Name extends CommandName> = {
  readonly [Key in keyof (typeof COMMANDS)[Name]['options']]: (typeof COMMANDS)[Name]['options'][Key] extends Option<
    infer Value
  >
    ? Value
    : never;
};

export type Command = {
  [Name in CommandName]: { readonly name: Name; readonly options: Options<Name> };
}[CommandName];

/** The command and its options; without a command it is the comparison. Throws an error whose message is meant for the user. */
export function parseCommandLine(args: readonly string[]): Command {
  const [first = ''] = args;
  const isNamed = first !== '' && !first.startsWith('-');
  const name = isNamed ? first : 'comparison';
  if (!Object.hasOwn(COMMANDS, name)) throw new Error(`unknown command: ${name}`);
  const options: [string, Option<unknown>][] = Object.entries(COMMANDS[name as CommandName].options);
  const { values } = parseArgs({
    args: args.slice(isNamed ? 1 : 0),
    options: Object.fromEntries(
      options.map(([key, { usual }]) => {
        return [key, { type: typeof usual === 'boolean' ? 'boolean' : 'string', default: usual }];
      }),
    ),
  });
  const read = options.map(([key, option]) => [key, readOption(key, option, values[key])]);
  return { name, options: Object.fromEntries(read) } as Command;
}

function readOption(key: string, option: Option<unknown>, given: unknown): unknown {
  try {
    return option.read(given as string | boolean);
  } catch (error) {
    throw new Error(`--${key} must be ${error instanceof Error ? error.message : error}`);
  }
}

/** All commands with their options and what these are by default. */
export function usage(): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, { about, options }]) => {
    const forms = Object.entries<Option<unknown>>(options).map(([key, { form }]) => `--${key}${form}`);
    return [`  ${name === 'comparison' ? '(none)' : name}`.padEnd(13) + about, `${' '.repeat(15)}${forms.join(' ')}`];
  });
  return ['Usage: npm run bench [-- COMMAND] [OPTIONS]', '', ...lines].join('\n');
}

/** A whole number of at least `least`. */
function whole(usual: number, least = 1): Option<number> {
  return { usual: String(usual), form: ` ${usual}`, read: (given) => wholeNumber(given, least) };
}

/** Whole numbers with commas between them. */
function wholes(usual: string): Option<readonly number[]> {
  return {
    usual,
    form: ` ${usual}`,
    read: (given) =>
      String(given)
        .split(',')
        .map((one) => wholeNumber(one, 1)),
  };
}

function wholeNumber(given: string | boolean, least: number): number {
  const number = Number(given);
  if (/^\d{1,9}$/.test(String(given)) && number >= least) return number;
  throw new Error(`a whole number of at least ${least}`);
}

function minutes(usual: string): Option<number> {
  const read = (given: string | boolean) => {
    if (Number(given) > 0) return Number(given);
    throw new Error('a number greater than 0');
  };
  return { usual, form: ` ${usual}`, read };
}

function folder(isRequired: boolean): Option<string> {
  const read = (given: string | boolean) => {
    if (isRequired && given === '') throw new Error('a folder');
    return String(given);
  };
  return { usual: '', form: ' FOLDER', read };
}

function flag(): Option<boolean> {
  return { usual: false, form: '', read: (given) => given === true };
}

/** One of the choices, or all of them. */
function choice<Choice extends string>(
  choices: readonly Choice[],
  all: string,
  usual: string = all,
): Option<readonly Choice[]> {
  const read = (given: string | boolean) => {
    const chosen = choices.filter((one) => given === all || given === one);
    if (chosen.length === 0) throw new Error(`${choices.join(', ')} or ${all}`);
    return chosen;
  };
  return { usual, form: ` ${[...choices, all].join('|')}`, read };
}
