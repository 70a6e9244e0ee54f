/** The room that staged files have on this machine. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { StagingFolder } from '../../src/services/open-files/staged-file.ts'
import { temporaryFolder } from '../support/program.ts'

const gibibyte = 1024 ** 3
const noRoom = /no room for files that are written out of order/

t.test('staged files', async t => {
  const folder = join(await temporaryFolder(t), 'staged')

  t.test('the processes of a server share the bytes', async t => {
    for (const [processes, ofMember] of [
      [1, 16],
      [8, 8],
    ] as const) {
      const staging = new StagingFolder(folder, processes)
      await using file = await staging.create('a member')
      await file.truncate(ofMember * gibibyte)
      await t.rejects(file.truncate(ofMember * gibibyte + 1), noRoom)
      await using other = await staging.create('another member')
      await (processes === 8 ? t.rejects(other.truncate(1), noRoom) : other.truncate(1))
    }
    t.same(await readdir(folder), [], 'they have no names')
  })

  t.test('a part of the disk stays free', async t => {
    const full = new StagingFolder(folder, 1, { share: 1, bytes: Number.POSITIVE_INFINITY })
    await using file = await full.create('a member')
    await t.rejects(file.write(0, Buffer.from('x')), noRoom)
    const free = new StagingFolder(folder, 1, { share: 0, bytes: 0 })
    await using other = await free.create('a member')
    await other.write(5, Buffer.from('x'))
    t.equal(other.size, 6)
  })
})
