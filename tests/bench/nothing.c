/* The shortest program, to measure what it costs to run one. */
int main(void)
{
    return 0;
}
