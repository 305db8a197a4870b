import type { Command } from 'commander';

/** The first argument by which a shell asks a program for the words that can follow. */
export const COMPLETE = '--complete';

/** The words that can follow these ones: commands, or options of the command that they name. */
export function completionsOf(program: Command, words: readonly string[]): readonly string[] {
  let command = program;
  for (const word of words) command = command.commands.find((child) => child.name() === word) ?? command;
  const options = command.options.flatMap(({ long }) => long ?? []);
  return [...command.commands.map((child) => child.name()), ...options, '--help'];
}

/** What a shell runs to complete the words of a program, by the name of the shell. */
export const COMPLETION_SCRIPTS = {
  bash: (name: string) => `_${name}() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(${name} ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`,
  zsh: (name: string) => `_${name}() {
  local -a found=("\${(@f)$(${name} ${COMPLETE} "\${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a found
}
compdef _${name} ${name}
`,
  fish: (name: string) => `complete -c ${name} -a '(${name} ${COMPLETE} (commandline -opc)[2..] 2>/dev/null)'
`,
} as const satisfies Record<string, (name: string) => string>;
