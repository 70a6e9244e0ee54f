/** `fake-host.ts <name>` serves a fake cloud, tells its parent process the address and a token, and ends with that process. */
import { startDropbox } from '../../test/servers/dropbox/index.ts'
import { startGoogleDrive } from '../../test/servers/google-drive/index.ts'
import { publicUrl } from '../../test/servers/onedrive/client.ts'
import { quickXorHashOf } from '../../test/servers/onedrive/drive.ts'
import { startOneDrive } from '../../test/servers/onedrive/index.ts'
import type { Fake } from './fake.ts'
import { bytes } from './pair.ts'

const scope = { teardown() {} }
const starters: Record<string, () => Promise<Fake>> = {
  async 'google-drive'() {
    const { url, oauth } = await startGoogleDrive(scope)
    return { url, token: oauth.issue() }
  },
  async dropbox() {
    const { url, oauth } = await startDropbox(scope)
    return { url, token: oauth.issue() }
  },
  async onedrive() {
    const fake = await startOneDrive(scope)
    fake.publicUrl = publicUrl
    // Its hash takes seconds, but once for one list of chunks. Both clients send this content.
    const content = [Buffer.alloc(bytes, 7)]
    quickXorHashOf(content)
    fake.drive.onStore = () => content
    return { url: fake.url, token: fake.oauth.issue() }
  },
}
process.once('disconnect', () => process.exit())
process.send?.(await starters[process.argv[2] ?? '']?.())
