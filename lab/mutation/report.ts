import { isInSample } from './sample.ts';

/** A report of Stryker, in the schema of mutation-testing-elements: the parts that are read here. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

interface Mutant {
  readonly id: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

/** A change is noticed if a test fails, or never ends. */
const NOTICED = ['Killed', 'Timeout'];
const UNNOTICED = ['Survived', 'NoCoverage'];

function count(mutants: readonly Mutant[], statuses: readonly string[]): number {
  return mutants.filter(({ status }) => statuses.includes(status)).length;
}

function percentage(mutants: readonly Mutant[]): number {
  const noticed = count(mutants, NOTICED);
  return (100 * noticed) / (noticed + count(mutants, UNNOTICED));
}

/** The report without the changes that were not chosen. */
export function sampleOf({ files }: Report, share: number): Report {
  const sampled = Object.entries(files).map(([name, { source, mutants }]) => {
    return [name, { source, mutants: mutants.filter(({ id }) => isInSample(id, share)) }];
  });
  return { files: Object.fromEntries(sampled) };
}

/** The share of changes that the tests notice, in percent. Changes that cannot be run do not count. */
export function scoreOf({ files }: Report): number {
  return percentage(Object.values(files).flatMap(({ mutants }) => mutants));
}

/** The score of each file, as a table of Markdown. */
export function mutationTable({ files }: Report): string {
  const rows = Object.entries(files)
    .filter(([, { mutants }]) => mutants.length > 0)
    .map(([name, { mutants }]) => {
      return `| \`${name}\` | ${count(mutants, NOTICED)} | ${count(mutants, UNNOTICED)} | ${percentage(mutants).toFixed(0)} % |`;
    });
  return ['| file | noticed | not noticed | score |', '|---|---|---|---|', ...rows].join('\n');
}

/** Every change that no test notices, as one line: where it is, and what it makes of the code. */
export function readSurvivors({ files }: Report): readonly string[] {
  return Object.entries(files).flatMap(([name, { source, mutants }]) => {
    const lines = source.split('\n');
    return mutants
      .filter(({ status }) => UNNOTICED.includes(status))
      .map(({ location, mutatorName, replacement = '' }) => {
        const line = lines[location.start.line - 1]?.trim();
        return `${name}:${location.start.line}:${location.start.column} ${mutatorName}: ${line} => ${replacement.replaceAll(/\s+/g, ' ')}`;
      });
  });
}
