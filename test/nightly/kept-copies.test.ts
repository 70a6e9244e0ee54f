/** Bits that are flipped in the files of radosgw and Azurite come back from the original, and edits of the original win. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import t, { type Test } from 'tap'
import { startCeph } from '../servers/radosgw-ceph.ts'
import { runJob, startWorld, tree, type World } from '../services/jobs-world.ts'
import { temporaryFolder } from '../support/program.ts'
import { untilParentEnds } from '../support/until-parent-ends.ts'

const run = promisify(execFile)

t.setTimeout(300_000)

const names = ['flipped', 'edited', 'same']

/** @param flip changes a byte of a copy in the files of its server, by the content */
async function proves(t: Test, world: World, copy: string, flip: (content: string) => Promise<void>): Promise<void> {
  const { app, token, a, rootA } = world
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(update, { input: { id: copy, versionCount: 5 } }, token)
  for (const name of names) await app.upload(token, a, `/kept/${name}`, `the bytes of ${name} are many `.repeat(200))
  const sources = [a, copy].map(providerId => ({ providerId, path: '/kept' }))
  const check = () => runJob(world, { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0 })
  t.match(await check(), { state: 'SUCCEEDED', progress: { files: 3, failed: 0 } })
  await flip('the bytes of flipped are many')
  const damaged = await (await app.download(token, copy, '/kept/flipped')).text()
  t.not(damaged, await readFile(join(rootA, 'kept/flipped'), 'utf8'), 'the copy is damaged')
  await writeFile(join(rootA, 'kept/edited'), 'an edit')
  t.match(await check(), { state: 'SUCCEEDED', progress: { failed: 0 } })
  for (const [name, content] of Object.entries(await tree(join(rootA, 'kept')))) {
    t.equal(await (await app.download(token, copy, `/kept/${name}`)).text(), content, name)
  }
  const versions = `query ($id: ID!, $path: String!) { versions(providerId: $id, path: $path, first: 5) { nodes { id } } }`
  const kept = await app.ask(versions, { id: copy, path: '/kept/flipped' }, token)
  t.equal(kept.versions.nodes.length, 1, 'the damaged bytes are an earlier version')
}

/** Changes the byte after the first occurrence of a text in the files of a folder. */
async function flipIn(folder: string, text: string): Promise<void> {
  let flipped = 0
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name)
    if (!(await stat(path)).isFile()) continue
    const at = (await readFile(path)).indexOf(text)
    if (at < 0) continue
    const file = await open(path, 'r+')
    await file.write(Buffer.from('#'), 0, 1, at + 3)
    await file.close()
    flipped += 1
  }
  if (flipped === 0) throw new Error(`No file in ${folder} contains "${text}"`)
}

t.test('radosgw', async t => {
  const folder = await temporaryFolder(t)
  const { account, stop } = await startCeph(folder)
  t.teardown(stop)
  const { endpoint, region, accessKeyId, secretAccessKey } = account
  const credentials = { accessKeyId, secretAccessKey }
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: 'copies' }))
  client.destroy()
  const world = await startWorld(t)
  const config = { bucket: 'copies', endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const s3 = await world.app.connectProvider(world.token, 's3', config, 'S3')
  await proves(t, world, s3, async text => {
    const rados = (...args: string[]) =>
      run('rados', ['--conf', join(folder, 'ceph.conf'), '--keyring', join(folder, 'keyring'), ...args])
    const { stdout: pools } = await rados('lspools')
    const pool = pools.split('\n').find(name => name.endsWith('.buckets.data')) ?? ''
    const { stdout } = await rados('--pool', pool, 'ls')
    const copied = join(folder, 'object')
    await mkdir(copied)
    for (const object of stdout.split('\n').filter(name => name.endsWith('kept/flipped'))) {
      await rados('--pool', pool, 'get', object, join(copied, 'bytes'))
      await flipIn(copied, text)
      await rados('--pool', pool, 'put', object, join(copied, 'bytes'))
    }
  })
})

t.test('Azurite', async t => {
  const folder = await temporaryFolder(t)
  const script = createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js')
  const flags = ['--blobPort', '0', '--location', folder, '--silent', '--disableTelemetry', '--skipApiVersionCheck']
  const child = spawn(...untilParentEnds(process.execPath, [script, ...flags]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  let address: string | undefined
  for await (const chunk of child.stdout) {
    said += chunk
    address = /listens on (http:\/\/\S+)/.exec(said)?.[1]
    if (address) break
  }
  const account = 'devstoreaccount1'
  const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
  const endpoint = `${address}/${account}`
  const service = new BlobServiceClient(endpoint, new StorageSharedKeyCredential(account, accountKey))
  await service.getContainerClient('copies').create()
  const world = await startWorld(t)
  const config = { account, accountKey, container: 'copies', endpoint }
  const azure = await world.app.connectProvider(world.token, 'azure-blob', config, 'Azure')
  await proves(t, world, azure, text => flipIn(join(folder, '__blobstorage__'), text))
})
