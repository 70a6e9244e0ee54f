/** Calls `done` when the work ends, with its error if it fails. */
export async function settle(work: Promise<unknown>, done: (error?: Error) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    return done(error instanceof Error ? error : new Error('The work failed', { cause: error }))
  }
  done()
}
