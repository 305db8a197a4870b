import { writeFileSync } from 'node:fs';
import { generatedFiles } from '../support/generated-docs.ts';

// `npm run docs` writes what comes from the code: whole files, and parts of pages.

for (const { file, generated } of generatedFiles()) writeFileSync(file, generated);
