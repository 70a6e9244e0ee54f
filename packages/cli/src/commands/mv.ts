import { command } from '../command.ts'
import { copyBetweenStorages } from '../jobs/copy-between.ts'
import { jobFields } from '../jobs/job.ts'
import { parseRemote } from '../operand.ts'
import { conflictOption, detachOption } from '../transfer/options.ts'
import { stepFields } from '../transfer/transfer.ts'

export const mv = command({
  name: 'mv',
  operands: '<source>... <target>',
  help: 'Move and rename files and folders in storages and between them.',
  options: { ...conflictOption, ...detachOption },
  json: { file: stepFields, job: jobFields },
  async run(context, { operands, options }) {
    const paths = operands.map(parseRemote)
    const [sources, target] = [paths.slice(0, -1), paths.at(-1)]
    if (!target) return
    const server = await context.connect()
    await copyBetweenStorages(
      { ...context, server },
      { kind: 'MOVE', sources, target },
      { ...options, recursive: true },
    )
  },
})
