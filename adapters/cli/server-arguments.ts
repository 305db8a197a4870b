/** A server program: it takes its settings from the environment, and explains them on its help page. */
export interface ServerPage {
  /** The subject of what it reports, such as `The service`. */
  readonly name: string;
  /** How users start it, such as `npm start`. */
  readonly command: string;
  readonly description: string;
  /** The settings that matter first: name and meaning. */
  readonly settings: readonly (readonly [name: string, meaning: string])[];
  /** The end of the page. */
  readonly notes: string;
  /** What to do if it does not start: one line. */
  readonly fix: string;
  readonly version: string;
}

/** What such a program prints for its arguments, and whether that was asked for: otherwise it ends with an error. */
interface ArgumentsOutput {
  readonly text: string;
  readonly exitCode: 0 | 2;
}

/** The response to the arguments of a server program; undefined without any, and then it starts. */
export function answerArguments(page: ServerPage, args: readonly string[]): ArgumentsOutput | undefined {
  const [first] = args;
  if (first === undefined) return undefined;
  if (args.includes('--help') || args.includes('-h')) return { text: helpPage(page), exitCode: 0 };
  if (first === '--version') return { text: `${page.version}\n`, exitCode: 0 };
  const [name = 'PORT'] = page.settings.map(([setting]) => setting).filter((setting) => setting === nameIn(first));
  return {
    // The argument itself is not repeated: it may be a secret.
    text: `error: this program takes no arguments but --help and --version. Settings are environment variables, as in:
  ${name}=${name === 'PORT' ? '9000' : '…'} ${page.command}\n`,
    exitCode: 2,
  };
}

/** The setting that an argument such as `--base-url=…` means. */
function nameIn(argument: string): string {
  return argument.replace(/^-+/, '').replace(/=.*/s, '').replaceAll('-', '_').toUpperCase();
}

function helpPage({ command, description, settings, notes }: ServerPage): string {
  const width = Math.max(...settings.map(([name]) => name.length));
  const rows = settings.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}\n`).join('');
  return `Usage: ${command}\n\n${description}\n\nSettings, as environment variables:\n${rows}\n${notes}\n\nOptions:\n  --version   print the version\n  -h, --help  print this page\n`;
}
