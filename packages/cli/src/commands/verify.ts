import { sourcesOfJobs } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { jobFields, runJob } from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { detachOption } from '../options.ts'

export const verify = command({
  name: 'verify',
  operands: '<path>...',
  help: 'Read files and folders in a storage again, in a job, and list what is damaged, and what is gone without having been deleted through the server.',
  options: { ...detachOption },
  json: { job: jobFields },
  async run(context, { operands, options: { detach } }) {
    const remotes = operands.map(parseRemote)
    const server = await context.connect()
    const paths = await Promise.all(remotes.map(operand => server.locate(operand)))
    for (const sources of sourcesOfJobs(paths.map(({ providerId, path }) => ({ providerId, path })))) {
      await runJob({ ...context, server }, { kind: 'VERIFY', sources }, detach)
    }
  },
})
