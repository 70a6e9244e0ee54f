import { command } from '../command.ts'
import { jobFields, jobRecord, jobText } from '../jobs/job.ts'
import { followJob, requireSuccess } from '../jobs/run-job.ts'

export const jobsWait = command({
  name: 'jobs wait',
  operands: '<id>',
  help: 'Wait until a job has ended, and fail if it failed. Ctrl-C does not cancel it.',
  options: {},
  json: { job: jobFields },
  async run(context, { operands: [id = ''] }) {
    const { output, connect } = context
    const job = await followJob({ ...context, server: await connect() }, id)
    await output.result(jobRecord(job), jobText(job))
    requireSuccess(job, output)
  },
})
