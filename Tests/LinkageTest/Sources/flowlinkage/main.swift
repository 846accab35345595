import HeadgateFlow

let answer = try waitForCallback { (completion: Completion<Int>) in completion.succeed(1) }
print("waited for", answer)
