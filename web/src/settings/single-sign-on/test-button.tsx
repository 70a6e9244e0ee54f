import { useMutation } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { VariablesOf } from '../../api/graphql.ts'
import { texts } from '../../texts/issuers.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TestIssuerMutation } from './operations.ts'

/** Tries settings in another tab, which shows what a sign-in would do. */
export function TestButton({
  input,
  ...description
}: {
  input: VariablesOf<typeof TestIssuerMutation>['input']
  'aria-describedby'?: string
}) {
  const test = useMutation({
    mutationFn: async () => {
      // Browsers block a tab that opens later than the press of the button, so it opens before its address is known.
      const tab = window.open('', '_blank')
      // The page of an issuer that nobody trusts yet must not lead this tab elsewhere.
      if (tab) tab.opener = null
      try {
        const { testIssuer } = await ask(TestIssuerMutation, { input })
        if (tab) tab.location.href = testIssuer
        else throw new Error(texts.popupBlocked)
      } catch (error) {
        tab?.close()
        throw error
      }
    },
  })
  return (
    <>
      <Button onPress={() => test.mutate()} isPending={test.isPending} {...description}>
        {texts.test}
      </Button>
      {test.error && <ErrorBox error={test.error} />}
    </>
  )
}
