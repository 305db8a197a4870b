/** How people call the program; what stands before its arguments in every example. */
export const PROGRAM_NAME = 'npm run clients --';
