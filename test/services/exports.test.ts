/** Files that can only be exported. A move must not replace the original with its export. */
import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { startApp } from '../support/app.ts'
import { providerClient } from './transfers.ts'

t.test('a Google document', async t => {
  const fake = await startGoogleDrive(t)
  const drive = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff, trust: 0 }) as AdapterDefinition
  const app = await startApp(t, {
    adapters: folder => [
      ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }).filter(({ type }) => type !== drive.type),
      drive,
    ],
  })
  const { token } = await app.register('owner@example.org')
  const connect = async (type: string, config: object) =>
    providerClient(app, token, await app.connectProvider(token, type, config))
  const robot = 'robot@fake.iam.gserviceaccount.com'
  const serviceAccountKey = fake.oauth.addServiceAccount(robot)
  const root = fake.store.rootOf(robot)
  const folder = fake.addFolder(root, 'folder', { owner: robot })
  const deep = fake.addFolder(folder.id, 'deep', { owner: robot })
  const add = (parent: string, name: string) => {
    const item = fake.addGoogleDoc(parent, name, 'document', 'the text')
    item.owner = robot
    return item
  }
  const docs = [add(root, 'Report'), add(deep.id, 'Notes')]
  const from = await connect('google-drive', { serviceAccountKey })
  const to = await connect('memory', {})
  await from.put('/folder/a.txt', 'bytes')
  const toProviderId = to.providerId

  await t.test('a document is never moved to another provider, alone or in a folder', async t => {
    for (const path of ['/Report.docx', '/folder']) {
      for (const conflict of ['FAIL', 'REPLACE', 'RENAME']) {
        t.equal(await from.run('move', { path, toProviderId, toPath: '/moved', conflict }), 'COPY_ONLY')
        t.same(await to.names('/'), [], 'the failed move leaves nothing')
      }
    }
    for (const { id } of docs) t.notOk(fake.store.items.get(id)?.explicitlyTrashed)
    t.equal(await from.get('/folder/a.txt'), 'bytes')
    const query = 'mutation ($input: MoveInput!) { move(input: $input) { path } }'
    const input = { providerId: from.providerId, path: '/folder', toProviderId, toPath: '/moved' }
    const { errors } = await app.graphql(query, { input }, token)
    t.match(
      errors[0]?.message,
      /"\/folder\/deep\/Notes\.docx".*copy it instead/,
      'the error names the file and says what to do',
    )
  })

  await t.test('a document can be copied, and moved within its provider', async t => {
    t.match(await from.run('copy', { path: '/Report.docx', toProviderId, toPath: '/Report.docx' }), {
      path: '/Report.docx',
    })
    t.ok(await to.get('/Report.docx'))
    t.match(await from.run('copy', { path: '/folder', toProviderId, toPath: '/folder' }), { path: '/folder' })
    t.match(await from.run('move', { path: '/Report.docx', toPath: '/folder/Renamed.docx' }), {
      path: '/folder/Renamed.docx',
    })
    t.same((await from.names('/folder')).toSorted(), ['Renamed.docx', 'a.txt', 'deep'])
  })
})
