/** The exit codes that scripts rely on. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Everything was done.' },
  failure: { code: 1, meaning: 'Something failed, or several things failed for different reasons.' },
  usage: { code: 2, meaning: 'The command line is wrong, or a deletion was not confirmed. Nothing was done.' },
  forbidden: { code: 3, meaning: 'You are not signed in, or the API key does not allow this.' },
  notFound: { code: 4, meaning: 'A storage, a file, a folder, a key or a job does not exist.' },
  conflict: { code: 5, meaning: 'A name is taken, a folder is not empty, or something changed meanwhile.' },
  interrupted: { code: 130, meaning: 'Ctrl-C interrupted the command. `SIGTERM` gives 143, and a closed pipe 141.' },
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]['code'] | 141 | 143
