# SPDX-License-Identifier: Apache-2.0
"""A game of bricks with pygame that plays itself; it runs until its window is closed."""

import pygame

WIDTH, HEIGHT = 600, 400
ROWS = ["#e63946", "#f4a261", "#e9c46a", "#2a9d8f"]

pygame.init()
screen = pygame.display.set_mode((WIDTH, HEIGHT))
pygame.display.set_caption("Bricks")
font = pygame.font.Font(None, 32)
clock = pygame.time.Clock()

bricks = [
    (pygame.Rect(12 + 58 * column, 50 + 24 * row, 54, 20), colour)
    for row, colour in enumerate(ROWS)
    for column in range(10)
]
paddle = pygame.Rect(250, HEIGHT - 30, 100, 12)
ball = pygame.Vector2(300, 300)
speed = pygame.Vector2(4, -5)
score = 0

running = True
while running:
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            running = False

    ball += speed
    paddle.centerx = max(50, min(WIDTH - 50, int(ball.x)))
    if not 8 < ball.x < WIDTH - 8:
        speed.x = -speed.x
    if ball.y < 40 or (speed.y > 0 and paddle.collidepoint(ball.x, ball.y + 8)):
        speed.y = -speed.y
    for brick in bricks:
        if brick[0].collidepoint(ball):
            bricks.remove(brick)
            speed.y = -speed.y
            score += 10
            break

    screen.fill("#1d3557")
    for rect, colour in bricks:
        pygame.draw.rect(screen, colour, rect, border_radius=4)
    pygame.draw.rect(screen, "#f1faee", paddle, border_radius=6)
    pygame.draw.circle(screen, "#ffffff", ball, 8)
    screen.blit(font.render(f"score {score}", True, "#f1faee"), (12, 12))
    pygame.display.flip()
    clock.tick(60)

pygame.quit()
