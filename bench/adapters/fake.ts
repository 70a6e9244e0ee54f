import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type TestHost, testHost } from '../../adapters/conformance/index.ts'
import type { Place } from './pair.ts'

/** A fake cloud, which has one account. */
export interface Fake {
  url: string
  token: string
}

const script = fileURLToPath(new URL('fake-host.ts', import.meta.url))

/** Starts a fake cloud in another process, so that its work does not slow the measured clients. */
export async function startFake(place: Place, name: 'google-drive' | 'dropbox' | 'onedrive'): Promise<Fake> {
  const child = fork(script, [name])
  const gone = once(child, 'exit')
  place.teardown(async () => {
    child.kill()
    await gone
  })
  const failed = gone.then(([code]) => Promise.reject(new Error(`The fake ${name} ended with status ${code}`)))
  const [fake] = await Promise.race([once(child, 'message'), failed])
  failed.catch(() => {})
  return fake as Fake
}

/** Returns a host with the consent of the account. */
export function consentingHost({ token }: Fake): TestHost {
  return testHost({ accessToken: async () => token })
}
