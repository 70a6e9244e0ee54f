/** The rights, names and absence of renditions. `test/nightly/renditions.test.ts` makes them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { makeShare, sharePath } from '../support/shares.ts'

t.test('files have no rendition without LibreOffice, and rights are decided before', async t => {
  // Nothing is on this path.
  const app = await startApp(t, { settings: { searchPath: '/nowhere' } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  await writeFile(join(app.folder, 'letter.rtf'), '{\\rtf1 Hello}')
  await writeFile(join(app.folder, 'notes.txt'), 'Hello')
  const reasonAt = async (path: string, credential: string | null = token) => {
    const response = await app.request(`/api/rendition?${new URLSearchParams({ providerId, path })}`, {
      token: credential,
    })
    const { errors } = (await response.json()) as { errors: { extensions: { reason: string } }[] }
    return errors[0]?.extensions.reason
  }
  t.equal(await reasonAt('/letter.rtf'), 'NO_RENDITION')
  t.equal(await reasonAt('/notes.txt'), 'NO_RENDITION')
  t.equal(await reasonAt('/missing.rtf'), 'NOT_FOUND')
  t.equal(await reasonAt('/'), 'NOT_A_FILE')
  const restrictions = [{ providerId, basePath: '/folder' }]
  const { key } = await app.createKey(token, { name: 'k', scopes: ['read'], providerAccess: { restrictions } })
  t.equal(await reasonAt('/letter.rtf', key), 'OUTSIDE_BASE_PATH')
  t.equal(await reasonAt('/missing.rtf', key), 'OUTSIDE_BASE_PATH')
  const limited = await makeShare(app, token, { providerId, path: '/letter.rtf', maxDownloads: 1 })
  t.equal((await app.request(sharePath(limited.link, 'rendition', { path: '/letter.rtf' }))).status, 404)
})
