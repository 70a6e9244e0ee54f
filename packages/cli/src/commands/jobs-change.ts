import { type Command, command } from '../command.ts'
import { jobFields, jobRecord, jobSelection, jobText, type ListedJob } from '../jobs/job.ts'

/** The commands that change a job have the names of the mutations. */
function changeCommand(word: 'pause' | 'resume' | 'cancel' | 'retry', help: string): Command {
  const document = `mutation Change($id: ID!) { job: ${word}Job(id: $id) { ${jobSelection} } }`
  return command({
    name: `jobs ${word}`,
    operands: '<id>',
    help,
    options: {},
    json: { job: jobFields },
    async run({ output, connect }, { operands: [id = ''] }) {
      const server = await connect()
      const { job } = await server.graphql<{ job: ListedJob }>(document, { id })
      await output.result(jobRecord(job), jobText(job))
    },
  })
}

export const jobsPause = changeCommand('pause', 'Pause a job within a second.')
export const jobsResume = changeCommand('resume', 'Continue a paused job.')
export const jobsCancel = changeCommand('cancel', 'Cancel a job within a second. What it has done stays.')
export const jobsRetry = changeCommand('retry', 'Start an ended job again for what failed.')
