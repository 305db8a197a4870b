import type { Command } from 'commander';

/** What `--help` says of a command. */
export interface CommandHelp {
  /** Name and arguments, such as `show <client-id>`. */
  readonly usage: string;
  readonly summary: string;
  /** What is worth knowing before, in sentences. */
  readonly description: string;
  /** Whole command lines behind the program's name, or behind a shell's text that ends with `|` or `<`. */
  readonly examples: readonly string[];
}

/** Adds a command whose help page ends with its examples. */
export function defineCommand(program: Command, { usage, summary, description, examples }: CommandHelp): Command {
  return program
    .command(usage)
    .summary(summary)
    .description(description)
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
}
