import { setTimeout as sleep } from 'node:timers/promises'
import { client } from '../test/support/client.ts'
import type { Installation } from './installation.ts'

interface Location {
  providerId: string
  path: string
}

/** Milliseconds between two looks at a job. */
const interval = 20

/** Returns a function that copies a tree into a folder as a job, and resolves at its end. */
export function jobRunner({ stowage, session }: Installation) {
  const api = client(stowage.url)
  return async (source: Location, target: Location): Promise<void> => {
    const input = { kind: 'COPY', sources: [source], target }
    const { createJob } = await api.ask(
      'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
      { input },
      session,
    )
    for (let state = 'QUEUED'; state !== 'SUCCEEDED'; ) {
      await sleep(interval)
      const { job } = await api.ask('query ($id: ID!) { job(id: $id) { state } }', createJob.job, session)
      state = job.state
      if (['FAILED', 'CANCELED'].includes(state)) throw new Error(`The job ended as ${state}`)
    }
  }
}
